"""Staff log in at an OpenID Connect provider, which the test runs itself."""

import http.cookiejar
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import StartCluster
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider, running_provider


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster, provider: Provider) -> Iterator[Cluster]:
    with start_cluster(
        WILLOW_OIDC_ISSUER=provider.issuer,
        WILLOW_OIDC_CLIENT_ID=CLIENT_ID,
        WILLOW_OIDC_CLIENT_SECRET=CLIENT_SECRET,
        WILLOW_OIDC_CREATE="on",
        WILLOW_SECOND_FACTOR="required",
        WILLOW_LOCKOUT_FAILURES="1000",  # the tests fail from one address, again and again
    ) as cluster:
        yield cluster


def log_in(cluster: Cluster) -> str:
    """Where a browser ends up that logs in at the provider."""
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(cookies)
    login = browser.open(f"{cluster.node.http_url}/admin/login/", timeout=PATIENCE).read().decode()
    assert "/oidc/authenticate/" in login
    try:
        page = browser.open(
            f"{cluster.node.http_url}/oidc/authenticate/?next=/admin/password_change/", timeout=PATIENCE
        )
    except urllib.error.HTTPError as refusal:
        with refusal:
            return str(refusal.code)
    return page.url.removeprefix(cluster.node.http_url).partition("?")[0]


def accounts(cluster: Cluster, name: str) -> list[Any]:
    return cluster.query("SELECT is_staff, is_superuser FROM auth_user WHERE username = %s", name)


def test_somebody_new_gets_an_account_without_permissions(cluster: Cluster, provider: Provider, name: str) -> None:
    provider.claims = {"sub": "7", "preferred_username": name}
    for _ in range(2):
        assert log_in(cluster) == "/admin/password_change/", "the provider's login needs no second factor here"
    assert accounts(cluster, name) == [(True, False)]
    assert cluster.query("SELECT count(*) FROM auth_user_user_permissions") == [(0,)]


def test_an_account_that_is_no_staff_stays_outside(cluster: Cluster, provider: Provider, name: str) -> None:
    provider.claims = {"sub": "8", "preferred_username": name}
    cluster.query(
        "INSERT INTO auth_user (username, password, is_staff, is_superuser, is_active, first_name, last_name, email,"
        " date_joined) VALUES (%s, '', false, false, true, '', '', '', now())",
        name,
    )
    assert log_in(cluster) == "/admin/login/"


LIES = {
    "for somebody else": {"aud": "another"},
    "of somebody else": {"iss": "https://another.example"},
    "expired": {"exp": int(time.time()) - 3600},
    "of another login": {"nonce": "another"},
    "about another person": {"sub": "another"},
}


@pytest.mark.parametrize("changes", LIES.values(), ids=LIES)
def test_a_token_that_is_not_good_lets_nobody_in(
    cluster: Cluster, provider: Provider, name: str, changes: dict[str, Any]
) -> None:
    provider.claims, provider.token_changes = {"sub": "9", "preferred_username": name}, changes
    try:
        assert log_in(cluster) == "/admin/login/"
    finally:
        provider.token_changes = {}
    assert accounts(cluster, name) == []


def test_a_token_that_somebody_else_signed_lets_nobody_in(cluster: Cluster, provider: Provider, name: str) -> None:
    provider.claims = {"sub": "10", "preferred_username": name}
    provider.signing_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    try:
        assert log_in(cluster) == "/admin/login/"
    finally:
        provider.signing_key = provider.key
    assert accounts(cluster, name) == []


@pytest.mark.parametrize("claim", [None, "", "x" * 151, 7])
def test_without_a_name_there_is_no_account(cluster: Cluster, provider: Provider, claim: Any) -> None:
    provider.claims = {"sub": "11", "preferred_username": claim}
    assert log_in(cluster) == "/admin/login/"
