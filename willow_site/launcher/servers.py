"""The embedded servers that a configuration leaves to the launcher."""

from willow_site.configuration import Configuration
from willow_site.embedded.server import EmbeddedServer
from willow_site.launcher.homes import Home

# What the launcher adds to the environment, so that it may be missing from the one it was given.
SUPPLIED = ("DATABASE_URL", "WILLOW_DATABASE_SOCKET", "REDIS_URL", "SECRET_KEY")


class Servers:
    """PostgreSQL and Valkey, as far as DATABASE_URL and REDIS_URL name no others."""

    def __init__(self, configuration: Configuration, home: Home, *, end_with_launcher: bool) -> None:
        self._home = home
        self._by_variable: dict[str, EmbeddedServer] = {}
        self._postgres = None if configuration.database_url else home.postgres(ends_with_starter=end_with_launcher)
        if self._postgres is not None:
            self._by_variable["DATABASE_URL"] = self._postgres
        if configuration.processes > 1 and not configuration.redis_url:
            self._by_variable["REDIS_URL"] = home.valkey(ends_with_starter=end_with_launcher)
        self._secret_key_is_given = bool(configuration.secret_key)

    def start(self) -> dict[str, str]:
        """Start them and return the variables that lead to them."""
        if self._postgres is not None and not self._home.has_postgres():
            print(f"Creating a PostgreSQL in {self._home.folder} (only the first time).", flush=True)
        variables = {variable: server.start() for variable, server in self._by_variable.items()}
        if self._postgres is not None and (folder := self._postgres.socket_folder) is not None:
            variables["WILLOW_DATABASE_SOCKET"] = folder
        if not self._secret_key_is_given:
            variables["SECRET_KEY"] = self._home.secret_key()
        return variables

    def revive(self) -> list[str]:
        """Start again what has died, and return the names."""
        dead = [server for server in self._by_variable.values() if server.running_process() is None]
        for server in dead:
            server.start()
        return [server.name for server in dead]

    def stop(self) -> None:
        for server in reversed(self._by_variable.values()):
            server.stop()
