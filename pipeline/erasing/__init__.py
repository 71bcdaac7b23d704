"""Erasing what is personal: bodies, error texts and names of clients, from journal, archive, facts and dead letters.

An erasure is a row in PostgreSQL from before its first step until its proof. Each step can be done again without harm,
and every run takes up what a killed one left: an erasure is finished exactly once.
"""
