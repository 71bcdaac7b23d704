"""See tests/support/operators.py."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.operators import Operators, operators

__all__ = ["operators"]

Act = Callable[..., Awaitable[Any]]


@pytest.fixture
def act(operators: Operators, broker: Cluster) -> Act:
    """`await act(function, ...)`: what an operator does on the shared broker's database."""

    async def act(action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await operators.on(broker, action, *args, **kwargs)

    return act
