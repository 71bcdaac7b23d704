"""What a person at the shell is told when the database is not as a command needs it."""

from django.conf import settings
from django.db import Error, OperationalError
from psycopg import errors

from willow_site.database_url import cannot_be_reached


def explained(error: Error) -> str | None:
    """One sentence for what happens to newcomers; None for everything else, which deserves its traceback."""
    cause = error.__cause__
    if isinstance(cause, errors.UndefinedTable | errors.UndefinedColumn):
        return "The database has not got this version's tables: run `./willow up` or `manage.py prepare` on it first."
    # Errors of statements carry a code of PostgreSQL, refused connections do not.
    if isinstance(error, OperationalError) and getattr(cause, "sqlstate", None) is None:
        return cannot_be_reached(str(error), settings.WILLOW.database_url)
    return None
