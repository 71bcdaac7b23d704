"""What a Django project pays: for a post in its transaction, for a task, and for a client that blocks."""
