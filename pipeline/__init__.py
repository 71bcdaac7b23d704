"""Willow's data pipeline on Spark: the journal into an archive, the archive into facts, the facts into PostgreSQL.

It imports no Django, so that `spark-submit --py-files` runs it on any Spark master.
"""
