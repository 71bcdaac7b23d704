"""Figures for people: counts of every queue, and what happened in the last minutes."""
