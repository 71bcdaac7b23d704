"""The OpenAPI document, and whether the API keeps to it whatever it is asked."""

import asyncio
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

EXAMPLES = 3  # requests of each kind to each operation
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
        assert "/api/messages/{shard}/{sequence}/" in answer.json["paths"]


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
