"""The clients of a run. They are written from the protocol alone and share no code with the broker or the SDK."""
