"""From rows of the journal to facts: functions from DataFrames to DataFrames, which read and write nothing.

`pipeline/facts/catalogue.py` lists them for the run: for each table the function, given all archived rows of
`schemas.JOURNAL` that ended or were posted on the days that are computed again, returns rows of that table's schema
for all grains. The run keeps those of these days and replaces what was there. A row that cannot be understood (an
unknown outcome, a clock that went backwards) is left out or clamped, and never ends the run.
"""
