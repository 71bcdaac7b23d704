"""The clients' named statements: `statement("open_session")` is the text of clients/sql/open_session.sql."""

from pathlib import Path

from queues.statements import Statements

statement = Statements(Path(__file__).parent / "sql")
