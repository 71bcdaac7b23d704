"""What goes wrong with embedded servers."""


class EmbeddedServerError(Exception):
    """The server cannot run; the message is one sentence for the person who starts Willow."""
