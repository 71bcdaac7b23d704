"""The OpenAPI document, and whether the API keeps to it whatever it is asked."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import StartCluster
from tests.support.http import call
from tests.support.keys import make_key

EXAMPLES = 2  # requests of each kind to each operation
LONGEST_QUERY = 1000  # characters: the server closes the connection on lines beyond 16 KiB, when they are escaped
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


async def test_the_document_and_its_page_come_from_this_server_alone(broker: Cluster) -> None:
    page = (await call(broker.node, "GET", "/api/docs/")).content.decode()
    assert "swagger-ui" in page
    assert "https://" not in page and "//cdn" not in page
    for path in ("/api/schema/", "/api/schema"):
        answer = await call(broker.node, "GET", path, format="json")
        assert answer.json["info"]["title"] == "Willow"
        assert "/api/messages/{shard}/{index}/" in answer.json["paths"]


async def test_every_operation_has_a_summary_a_tag_and_an_example_of_what_is_sent(broker: Cluster) -> None:
    document = (await call(broker.node, "GET", "/api/schema", format="json")).json
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert 5 < len(operation["summary"]) < 120, (path, method, operation["summary"])
            assert len(operation["tags"]) == 1 and operation["tags"] != ["api"], path
            for content in operation.get("requestBody", {}).get("content", {}).values():
                example = content["examples"]["example"]["value"]
                schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
                assert example.keys() <= schema["properties"].keys(), (path, method)
                assert set(schema.get("required", ())) <= example.keys(), (path, method)


async def test_a_generated_client_works(broker: Cluster, queue: str, tmp_path: Path) -> None:
    """Made by an ordinary generator, from the document alone."""
    answer = await call(broker.node, "GET", "/api/schema", format="json")
    (tmp_path / "openapi.json").write_bytes(answer.content)
    generate = [str(Path(sys.executable).with_name("openapi-python-client")), "generate", "--path", "openapi.json"]
    made = await asyncio.to_thread(
        subprocess.run, [*generate, "--meta", "none", "--output-path", "willow_rest"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    key = make_key(broker, {"*": {"admin", "post", "fetch", "create"}})
    program = GENERATED_PROGRAM.format(url=broker.node.http_url, key=key.secret, queue=queue)
    ran = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "hello\n0\n"), ran.stderr


GENERATED_PROGRAM = """
from willow_rest import AuthenticatedClient
from willow_rest.api.messages import fetch_messages, finish_message, post_message
from willow_rest.api.queues import show_named_queue
from willow_rest.models import FetchRequest, FinishRequest, PostRequest

client = AuthenticatedClient(base_url="{url}", token="{key}", prefix="Token", raise_on_unexpected_status=True)
post_message.sync(client=client, body=PostRequest(queue=["{queue}"], message="hello"))
fetched = fetch_messages.sync(client=client, body=FetchRequest(queue="{queue}", timeout=20.0))
print(fetched.messages[0].body)
finish_message.sync(client=client, body=FinishRequest(receipt=fetched.messages[0].receipt))
print(show_named_queue.sync(client=client, name="{queue}").in_flight)
"""


def test_every_answer_keeps_to_the_document(start_cluster: StartCluster) -> None:
    """Arbitrary requests to every operation, good and bad ones, as an operator: no 5xx, and nothing undocumented."""
    with start_cluster(reaper=True) as cluster:
        headers = make_key(cluster, {"*": {"admin", "post", "fetch", "create"}}).headers
        document = asyncio.run(call(cluster.node, "GET", "/api/schema/", format="json")).json
        for operations in document["paths"].values():
            for operation in operations.values():
                del operation["security"]  # the key is always the same; see test_permissions.py for others
        schema = schemathesis.openapi.from_dict(document)
        schema.config.update(base_url=cluster.node.http_url)
        operations = [result.ok() for result in schema.get_all_operations()]
        broken = [
            problem
            for mode in GenerationMode
            for operation in operations
            for problem in examined(operation, mode, headers)
        ]
    assert not broken, "\n\n".join(broken)


def examined(operation: Any, mode: GenerationMode, headers: dict[str, str]) -> list[str]:
    """What is wrong with the answers to a few arbitrary requests to one operation."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def examine(case: Any) -> None:
        assume(len(str(case.query)) < LONGEST_QUERY)
        # An object among the arguments may come to be no argument at all, with which nothing is wrong.
        assume(not any(isinstance(value, dict) for value in (case.query or {}).values()))
        if isinstance(case.body, dict):
            case.body.pop("timeout", None)  # of a pop: so that no test waits
        case.call_and_validate(headers=headers, checks=CHECKS, timeout=PATIENCE)

    try:
        examine()
    except BaseExceptionGroup as failures:
        return [f"{operation.label}: {failure}" for failure in failures.exceptions]
    except Unsatisfiable:
        return []  # nothing that could be sent would be wrong
    return []
