"""Brings messages and those who wait for them together, in batches."""
