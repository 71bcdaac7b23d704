"""Proof that nothing is lost: a cluster under load and faults, and a checker that reads what everybody saw.

`history`, `remains`, `evidence`, `verdicts/`, `checker` and `report` are a library that uses only the standard library
and knows no broker: whoever writes such histories can have them judged. `willow/` has a real cluster, its load and its
faults; `./willow faults` runs it.
"""
