"""People who log in."""

from dataclasses import dataclass

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import NAME, has_host


@dataclass(frozen=True, kw_only=True)
class People:
    lockout_failures: int = setting(
        "WILLOW_LOCKOUT_FAILURES",
        kinds.whole_number(1, 1000),
        "10",
        "How many wrong passwords or codes from one address lock an account for that address.",
        unit="failures",
    )
    lockout_minutes: float = setting(
        "WILLOW_LOCKOUT_MINUTES", kinds.number(0.01, 10_080), "15", "How long an account stays locked.", unit="minutes"
    )
    second_factor: str = setting(
        "WILLOW_SECOND_FACTOR",
        kinds.choice("optional", "required"),
        "optional",
        "Whether staff who log in with a password need a code from an app as well; whoever has set one up always does.",
    )
    oidc_issuer: str | None = setting(
        "WILLOW_OIDC_ISSUER",
        kinds.url("https", "http", example="https://login.example.org/realms/main", check=has_host),
        None,
        "The OpenID Connect provider at which staff can log in; it must offer `/.well-known/openid-configuration`.",
        default_about="staff log in with passwords only",
    )
    oidc_client_id: str | None = setting(
        "WILLOW_OIDC_CLIENT_ID", NAME, None, "Willow's name at the provider.", default_about="none"
    )
    oidc_client_secret: str | None = setting(
        "WILLOW_OIDC_CLIENT_SECRET",
        kinds.text(r"[!-~]+", "printable ASCII characters without spaces"),
        None,
        "Willow's secret at the provider.",
        secret=True,
        default_about="none",
    )
    oidc_username_claim: str = setting(
        "WILLOW_OIDC_USERNAME_CLAIM",
        NAME,
        "preferred_username",
        "The provider's claim that holds the name of a person's account.",
    )
    oidc_create: bool = setting(
        "WILLOW_OIDC_CREATE",
        kinds.switch(),
        "off",
        "Whether somebody whom Willow does not know gets an account: staff, without permissions.",
    )
