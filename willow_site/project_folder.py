"""Where the project's files are."""

from pathlib import Path

PROJECT_FOLDER = Path(__file__).resolve().parent.parent
