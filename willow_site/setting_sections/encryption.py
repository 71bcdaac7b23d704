"""Encryption."""

from dataclasses import dataclass
from pathlib import Path

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import FILE


@dataclass(frozen=True, kw_only=True)
class Encryption:
    tls_certificate: Path | None = setting(  # noqa: RUF009
        "WILLOW_TLS_CERTIFICATE",
        FILE,
        None,
        "The certificate of this node, with those of its issuers, as PEM; read again on SIGHUP.",
        default_about="no TLS: the broker speaks plain HTTP and WebSockets",
    )
    tls_key: Path | None = setting(  # noqa: RUF009
        "WILLOW_TLS_KEY",
        FILE,
        None,
        "The private key of the certificate, as PEM without a passphrase.",
        default_about="in the file of the certificate",
    )
    tls_clients: str = setting(
        "WILLOW_TLS_CLIENTS",
        kinds.choice("off", "optional", "required"),
        "off",
        "Whether callers show a certificate of their own, which must be issued by `WILLOW_TLS_CLIENT_CA`.",
    )
    tls_client_ca: Path | None = setting(  # noqa: RUF009
        "WILLOW_TLS_CLIENT_CA",
        FILE,
        None,
        "The certificates of those who issue certificates for callers, as PEM.",
        default_about="none; needed if `WILLOW_TLS_CLIENTS` is not off",
    )
    https: bool = setting(
        "WILLOW_HTTPS",
        kinds.switch(),
        None,
        "Whether browsers reach the console over HTTPS only: then its cookies are Secure, and HSTS is sent.",
        default_about="on with a certificate, or if `WILLOW_ADVERTISED_URL` begins with wss",
    )
