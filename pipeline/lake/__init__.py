"""The archive and the facts as Apache Iceberg tables, whose list of files is the only one.

A table's metadata names the files that count. PostgreSQL has the pointer to the metadata (`iceberg_tables`, the SQL
catalog that Iceberg's readers know), so one transaction can move the pointer together with the offset and the facts.
What is written and not yet pointed at counts for nobody.
"""
