"""Figures for Prometheus: counted by this process, or read from the database for the whole cluster."""
