"""What a Django project pays: for a post in its transaction, for a client that blocks, and for its tasks."""
