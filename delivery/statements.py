"""The delivery's named statements: `statement("claim")` is the text of delivery/sql/claim.sql."""

from pathlib import Path

from queues.statements import Statements

SQL_FOLDER = Path(__file__).parent / "sql"
statement = Statements(SQL_FOLDER)
