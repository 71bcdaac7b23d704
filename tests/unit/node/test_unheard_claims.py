"""Claims that nobody was told of: those of sessions are looked for, those over HTTP end with their lease."""

from delivery.engine.demands import NO_SESSION
from delivery.node.unheard_claims import UnheardClaims


def test_claims_over_http_are_not_taken_for_those_of_one_session() -> None:
    ended: list[int] = []
    unheard = UnheardClaims({}, ended.append)
    unheard.add(NO_SESSION)  # else all claims over HTTP would fail with the one that was lost
    assert not unheard
    unheard.add(7)
    assert unheard
