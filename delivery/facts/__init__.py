"""What the data pipeline works out of the journal and writes back, for the console and REST to read.

Only the pipeline writes these tables (`pipeline/writing/`); the broker itself needs none of them.
"""
