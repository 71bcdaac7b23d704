"""The long-term history: the journal as an Iceberg table of Parquet files by day, each row exactly once.

A file counts when the snapshot has it that PostgreSQL points at (`iceberg_tables`), and that pointer is moved in the
transaction that moves the offset. What a killed run wrote before that is swept away by the next one.
"""
