"""What reads and overrides parts of psycopg that it does not document. Nothing else in Willow does.

`StatementConnection` is the interface, and does the same by documented means, more slowly (`WILLOW_PLAIN_PSYCOPG`).
tests/unit/storage/test_psycopg_internals.py names what is used here.
"""
