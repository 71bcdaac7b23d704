"""Logging in at an OpenID Connect provider, where a setting names one. mozilla-django-oidc speaks the protocol."""

import logging
from functools import cache
from typing import Any

import jwt
import requests
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationRequestView

from console.problems import Problem, problem_page
from delivery.operating.audit import audit, staff

logger = logging.getLogger(__name__)

DISCOVERY = "/.well-known/openid-configuration"
ENDPOINTS = {
    "OIDC_OP_AUTHORIZATION_ENDPOINT": "authorization_endpoint",
    "OIDC_OP_TOKEN_ENDPOINT": "token_endpoint",
    "OIDC_OP_USER_ENDPOINT": "userinfo_endpoint",
    "OIDC_OP_JWKS_ENDPOINT": "jwks_uri",
}
CLOCKS_DIFFER_SECONDS = 60
LONGEST_NAME = 150  # of an account


@cache
def provider() -> dict[str, Any]:
    """What the provider says of itself, asked for when somebody first logs in: a start must not depend on it."""
    issuer = str(settings.WILLOW.oidc_issuer).rstrip("/")
    answer = requests.get(issuer + DISCOVERY, timeout=settings.OIDC_TIMEOUT)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    if str(found.get("issuer", "")).rstrip("/") != issuer:
        raise requests.RequestException(f"The provider calls itself {found.get('issuer')!r}, not {issuer!r}.")
    return found


def provider_setting(name: str, *default: Any) -> Any:
    """Settings of the library; addresses of the provider are looked up when they are used."""
    if name in ENDPOINTS:
        return SimpleLazyObject(lambda: provider()[ENDPOINTS[name]])
    return getattr(settings, name, *default) if default else getattr(settings, name)


class ProviderBackend(OIDCAuthenticationBackend):
    """Accounts are found by name. Somebody new gets one without permissions, if the setting says so."""

    get_settings = staticmethod(provider_setting)

    def authenticate(self, request: HttpRequest | None, **kwargs: Any) -> User | None:
        if not settings.WILLOW.oidc_issuer or "nonce" not in kwargs:
            return None
        try:
            user: User | None = super().authenticate(request, **kwargs)
        except (requests.RequestException, SuspiciousOperation, KeyError, ValueError) as error:
            logger.warning("A login at the provider failed: %s", error)
            return None
        return user if user is not None and user.is_staff else None

    def _verify_jws(self, payload: str, key: Any) -> dict[str, Any]:
        """The library leaves out for whom a token is and who made it."""
        try:
            token: dict[str, Any] = jwt.decode(
                payload,
                key,
                algorithms=[self.OIDC_RP_SIGN_ALGO],
                audience=self.OIDC_RP_CLIENT_ID,
                issuer=provider()["issuer"],
                leeway=CLOCKS_DIFFER_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            raise SuspiciousOperation(f"The provider's token is not good: {error}") from None
        return token

    def get_userinfo(self, access_token: str, id_token: str, payload: dict[str, Any]) -> dict[str, Any]:
        claims: dict[str, Any] = super().get_userinfo(access_token, id_token, payload)
        if claims.get("sub") != payload.get("sub"):
            raise SuspiciousOperation("The provider tells of somebody else than its token does.")
        return claims

    def verify_claims(self, claims: dict[str, Any]) -> bool:
        name = self.get_username(claims)
        return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME

    def get_username(self, claims: dict[str, Any]) -> Any:
        return claims.get(settings.WILLOW.oidc_username_claim)

    def filter_users_by_claims(self, claims: dict[str, Any]) -> QuerySet[User]:
        return User.objects.filter(username=self.get_username(claims))

    def create_user(self, claims: dict[str, Any]) -> User:
        user = User.objects.create_user(self.get_username(claims), is_staff=True)
        audit(by=staff(user), action="add user", target=user.get_username(), details={"from": "the provider"})
        return user

    def describe_user_by_claims(self, claims: dict[str, Any]) -> str:
        return f"the name {self.get_username(claims)!r}"


class AskProvider(OIDCAuthenticationRequestView):
    get_settings = staticmethod(provider_setting)

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            answer: HttpResponse = super().get(request)
        except requests.RequestException as error:
            logger.warning("The OpenID Connect provider could not be asked: %s", error)
            why = "The provider at which you log in cannot be reached. Try again, or log in with a password."
            return problem_page(request, Problem(503, "The provider cannot be reached", why))
        return answer
