"""DATABASE_URL: the options that it may carry behind its question mark, and what is said when it leads nowhere.

Standard library only: the launcher checks the configuration before psycopg is installed.
"""

import difflib
from urllib.parse import SplitResult, parse_qsl, urlsplit

from willow_site.setting_declaration import ConfigurationError

# What libpq of PostgreSQL 18 knows; a test compares the list with the library that is installed.
_NAMES = """
    application_name channel_binding client_encoding connect_timeout dbname fallback_application_name gssdelegation
    gssencmode gsslib host hostaddr keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname
    load_balance_hosts max_protocol_version min_protocol_version oauth_client_id oauth_client_secret oauth_issuer
    oauth_scope options passfile password port replication require_auth requirepeer scram_client_key scram_server_key
    service ssl_max_protocol_version ssl_min_protocol_version sslcert sslcertmode sslcompression sslcrl sslcrldir sslkey
    sslkeylogfile sslmode sslnegotiation sslpassword sslrootcert sslsni target_session_attrs tcp_user_timeout user
"""
LIBPQ_OPTIONS = frozenset(_NAMES.split())


def database_options(parts: SplitResult) -> dict[str, str]:
    """The options of a URL by name. One that PostgreSQL's client library does not know is refused."""
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name, value in options.items():
        if name not in LIBPQ_OPTIONS:
            closest = difflib.get_close_matches(name, sorted(LIBPQ_OPTIONS), n=1, cutoff=0)[0]
            raise ConfigurationError(
                f'DATABASE_URL has the option "{name}", but PostgreSQL\'s client library has none of this name; '
                f"the closest one is {closest}."
            )
        if not value:
            raise ConfigurationError(f'DATABASE_URL has the option "{name}" without a value.')
    return options


def cannot_be_reached(reason: str, url: str) -> str:
    """One sentence with all that PostgreSQL's client library says, and where it was tried."""
    parts = urlsplit(url)
    place = database_options(parts).get("host") or parts.hostname or "localhost"
    where = f"{place}:{parts.port}" if parts.port else place
    whole = " ".join(line.strip() for line in reason.splitlines() if line.strip())
    return f"The database {parts.path.removeprefix('/')} at {where} cannot be reached: {whole}"
