"""From the journal in PostgreSQL to rows in Spark: bounded slices of settled rows, in short statements."""
