"""The long-term history: the journal as Parquet by day, each row exactly once.

A file counts when PostgreSQL has a row for it (`willow_archive_parts`), and that row is written in the transaction
that moves the offset. Files are written aside first, and moved to their place after that commit; what a killed run
left is taken up, or swept away, by the next one.
"""
