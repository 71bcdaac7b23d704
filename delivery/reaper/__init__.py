"""What must happen to messages, claims, sessions and the journal when time passes and nobody asks."""
