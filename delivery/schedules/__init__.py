"""Messages that are posted by the clock: when they are due, and each due time posted once."""
