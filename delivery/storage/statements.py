"""The delivery's named statements: `statement("claim")` is the text of claim.sql in a folder of delivery/sql/.

Their `:NAMES` are those of vocabulary.py, and of the parts in delivery/sql/ that several statements share.
"""

from pathlib import Path

from delivery.storage.vocabulary import NAMES
from queues.statements import Statements

statement = Statements(Path(__file__).parents[1] / "sql", NAMES)
