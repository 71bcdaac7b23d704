"""Replay: messages of the archive whose bodies were kept are posted again, through the ordinary protocol.

command.py says what is wanted -> selection.py finds it in the archive -> posting.py posts it at a rate
record.py knows, whatever happens, what was posted and what was not
"""

from pipeline.replay.command import add_arguments, main

__all__ = ["add_arguments", "main"]
