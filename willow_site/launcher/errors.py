"""What stops the launcher."""


class LauncherError(Exception):
    """The command cannot go on; the message is for the person who gave it."""
