"""OpenLineage events about runs: which tables were read, and which were written. Only if a place for them is set.

An event that cannot be delivered is reported in a line and costs the run nothing.
"""

import base64
import json
import re
import sys
import urllib.request
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from psycopg.conninfo import conninfo_to_dict

from pipeline.options import Options

PRODUCER = "urn:willow:pipeline"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
TIMEOUT_SECONDS = 5

READ = ("willow_journal_v2", "willow_queues_v1")
WRITTEN_TABLES = ("queue_facts", "client_facts", "node_facts", "service_facts", "dead_letter_clusters")


class Lineage:
    """The events of one run."""

    def __init__(self, place: str | None, options: Options, command: str) -> None:
        self._place = place
        self._options = options
        self._command = command
        self._run = str(uuid.uuid4())

    def tell(self, kind: str, *, facts: Mapping[str, Any] | None = None, error: str = "") -> None:
        """`kind` is START, COMPLETE, ABORT or FAIL."""
        if not self._place:
            return
        try:
            _deliver(self._place, json.dumps(self.event(kind, facts or {}, error)))
        except (OSError, HTTPException, ValueError) as failure:  # the last two: no HTTP is spoken there, or no URL
            print(f"The lineage event could not be delivered to {_shown(self._place)}: {failure}.", file=sys.stderr)

    def event(self, kind: str, facts: Mapping[str, Any], error: str) -> dict[str, Any]:
        facets: dict[str, Any] = {"willow_run": _facet(dict(facts))} if facts else {}
        if error:
            facets["errorMessage"] = _facet({"message": error, "programmingLanguage": "python"})
        return {
            "eventType": kind,
            "eventTime": datetime.now(UTC).isoformat(),
            "producer": PRODUCER,
            "schemaURL": SCHEMA,
            "run": {"runId": self._run, "facets": facets},
            "job": {"namespace": "willow", "name": f"pipeline.{self._command}", "facets": {}},
            "inputs": [self._in_postgres(view) for view in READ],
            "outputs": [
                *(self._in_archive(table) for table in ("journal", *WRITTEN_TABLES)),
                *(self._in_postgres(f"willow_{table}") for table in (*WRITTEN_TABLES, "health_findings")),
            ],
        }

    def _in_postgres(self, relation: str) -> dict[str, Any]:
        parts = conninfo_to_dict(self._options.database_url)
        namespace = f"postgres://{parts.get('host', 'localhost')}:{parts.get('port', '5432')}"
        return {"namespace": namespace, "name": f"{parts.get('dbname', '')}.public.{relation}", "facets": {}}

    def _in_archive(self, table: str) -> dict[str, Any]:
        place = urlsplit(self._options.archive)
        path = place.path.strip("/") + ("/journal" if table == "journal" else f"/facts/{table}")
        namespace = f"{place.scheme}://{place.netloc}" if place.netloc else place.scheme
        return {"namespace": namespace, "name": path, "facets": {}}


def _facet(said: dict[str, Any]) -> dict[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": SCHEMA, **said}


def _deliver(place: str, event: str) -> None:
    """To an OpenLineage server, or as a line of a file."""
    if not place.startswith(("http://", "https://")):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(f"{event}\n")
        return
    address, headers = _shown(place), {"Content-Type": "application/json"} | _credentials(place)
    url = address if urlsplit(address).path.strip("/") else f"{address.rstrip('/')}/api/v1/lineage"
    request = urllib.request.Request(url, event.encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):
        pass


def _credentials(place: str) -> dict[str, str]:
    """Name and password of the URL, as a header: urllib would take them for a part of the host's name."""
    parts = urlsplit(place)
    if parts.username is None:
        return {}
    both = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(both.encode()).decode()}"}


def _shown(place: str) -> str:
    """Without a password."""
    return re.sub(r"//[^/]*@", "//", place)
