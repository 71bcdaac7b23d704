"""The delivery's named statements: `statement("claim")` is the text of claim.sql in a folder of delivery/sql/."""

from pathlib import Path

from queues.statements import Statements

statement = Statements(Path(__file__).parents[1] / "sql")
