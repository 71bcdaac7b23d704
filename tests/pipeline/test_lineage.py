"""Lineage events: to a server or a file, and never at the cost of the run."""

import base64
import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from pipeline.database import connect
from pipeline.errors import PipelineError
from pipeline.lineage import Lineage
from pipeline.runs import recorded
from tests.pipeline.kit import Ledger


def test_a_run_tells_of_its_beginning_and_its_end(ledger: Ledger, tmp_path: Path) -> None:
    options = replace(ledger.options, lineage=str(tmp_path / "events"))
    with connect(ledger.url) as connection:
        with recorded(connection, "run", options) as record, record.step("archive"):
            record.rows, record.bytes = 7, 700
        with pytest.raises(PipelineError), recorded(connection, "run", options):
            raise PipelineError("no paper")
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert [event["eventType"] for event in events] == ["START", "COMPLETE", "START", "FAIL"]
    assert events[0]["run"]["runId"] == events[1]["run"]["runId"] != events[2]["run"]["runId"]
    assert events[1]["run"]["facets"]["willow_run"]["rows"] == 7
    assert events[3]["run"]["facets"]["errorMessage"]["message"] == "no paper"
    assert any(read["name"].endswith("willow_journal_v2") for read in events[0]["inputs"])
    assert any(written["name"].endswith("archive/journal") for written in events[0]["outputs"])
    [(rows, size, steps)] = ledger.query("SELECT rows, bytes, steps FROM willow_pipeline_runs WHERE state = 'done'")
    assert (rows, size, list(steps)) == (7, 700, ["archive"])


def test_a_server_gets_the_event_where_openlineage_has_it(ledger: Ledger) -> None:
    got: list[tuple[str, str | None, Any]] = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.append((self.path, self.headers["Authorization"], event))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        Lineage(f"http://me:p%40ss@127.0.0.1:{server.server_port}", ledger.options, "run").tell("START")
    [(path, who, event)] = got
    assert (path, event["job"]["name"]) == ("/api/v1/lineage", "pipeline.run")
    assert who == f"Basic {base64.b64encode(b'me:p@ss').decode()}"


@pytest.mark.parametrize("place", ["127.0.0.1:1", "127.0.0.1:none", "127.0.0.1:99999", "[127.0.0.1"])
def test_a_place_that_takes_no_events_is_named_without_its_password(
    ledger: Ledger, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    Lineage(f"http://me:secret@{place}", ledger.options, "run").tell("START")
    said = capsys.readouterr().err
    assert f"could not be delivered to http://{place}" in said and "secret" not in said
