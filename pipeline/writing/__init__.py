"""From facts in Spark to tables in PostgreSQL: a staging table without a log, then one merge."""
