"""The largest numbers that PostgreSQL's columns hold."""

INTEGER_MAX = 2**31 - 1
BIGINT_MAX = 2**63 - 1
