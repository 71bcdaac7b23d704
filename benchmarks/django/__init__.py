"""What a Django project pays: for a post in its transaction, and for a client that blocks."""
