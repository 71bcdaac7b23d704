"""Every setting of Willow: read from the environment once, checked, typed. `setting_sections` declares them.

`docs/configuration.md` describes the same settings for operators; a test keeps the two in step.
Standard library only: the launcher checks the configuration before it has looked at Django.
"""

import dataclasses
import difflib
import ipaddress
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from willow_site.database_url import database_options
from willow_site.setting_declaration import ConfigurationError, Setting
from willow_site.setting_sections.access import Access
from willow_site.setting_sections.encryption import Encryption
from willow_site.setting_sections.intervals import Intervals
from willow_site.setting_sections.limits import Limits
from willow_site.setting_sections.messages import Messages
from willow_site.setting_sections.metrics import Metrics
from willow_site.setting_sections.people import People
from willow_site.setting_sections.pipeline import Pipeline
from willow_site.setting_sections.quotas import Quotas
from willow_site.setting_sections.retention import Retention
from willow_site.setting_sections.services import Services
from willow_site.setting_sections.this_node import ThisNode

PREFIX = "WILLOW_"


@dataclass(frozen=True, kw_only=True)
class Configuration(
    Pipeline,
    Intervals,
    Limits,
    Quotas,
    Retention,
    Messages,
    Metrics,
    People,
    Encryption,
    Access,
    ThisNode,
    Services,
):
    """All settings, in the order of `docs/configuration.md`: a dataclass begins with the fields of its last base.

    A field has the name of its variable, in lower case and without WILLOW_.
    """


def declared_settings() -> dict[str, Setting]:
    """Every setting by the name of its field, in the order of the page."""
    return {item.name: item.metadata["setting"] for item in dataclasses.fields(Configuration)}


def load_configuration(environ: Mapping[str, str], *, supplied_later: Collection[str] = ()) -> Configuration:
    """Read and check all settings; an empty variable counts as unset.

    `supplied_later` names required variables that may be missing now because the caller starts the
    server that provides them; their fields are empty.
    """
    _refuse_unknown(environ)
    values: dict[str, Any] = {}
    for name, declared in declared_settings().items():
        raw = environ.get(declared.variable) or declared.default
        if raw is not None:
            values[name] = declared.read(raw)
        elif declared.required and declared.variable not in supplied_later:
            raise ConfigurationError(
                f"{declared.variable} is not set. Start Willow with ./willow up, test or manage, which set it, "
                f"or set it to {declared.kind.allowed}."
            )
        else:
            values[name] = "" if declared.required else None
    configuration = Configuration(**_with_derived_names(values))
    _check_together(configuration, environ, supplied_later)
    return configuration


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = [declared.variable for declared in declared_settings().values()]
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and variable not in known:
            closest = difflib.get_close_matches(variable, known, n=1, cutoff=0)[0]
            raise ConfigurationError(f"{variable} is not a setting of Willow; did you mean {closest}?")


def _with_derived_names(values: dict[str, Any]) -> dict[str, Any]:
    number, port = values["process_number"], values["port"]
    if values["node_name"] is None:
        values["node_name"] = f"{socket.gethostname()}-{port}-{number}"
    elif number > 0:
        values["node_name"] = f"{values['node_name']}-{number}"
    encrypts = values["tls_certificate"] is not None
    if values["advertised_url"] is None:
        scheme = "wss" if encrypts else "ws"
        values["advertised_url"] = f"{scheme}://{_reachable_host(values['bind'])}:{port}/connect/"
    if values["https"] is None:
        values["https"] = encrypts or values["advertised_url"].startswith("wss:")
    return values


def _reachable_host(bind: str) -> str:
    address = ipaddress.ip_address(bind)
    if address.is_unspecified:
        return socket.gethostname()
    return f"[{bind}]" if address.version == 6 else bind


def _check_together(configuration: Configuration, environ: Mapping[str, str], supplied_later: Collection[str]) -> None:
    """Check what no setting can tell by itself, and what needs a sentence of its own."""
    database_options(urlsplit(configuration.database_url))
    rules = (
        (
            configuration.node_lapse > configuration.node_heartbeat,
            "node_lapse",
            "more than WILLOW_NODE_HEARTBEAT",
        ),
        (
            configuration.max_frame_bytes >= configuration.max_body_bytes,
            "max_frame_bytes",
            "at least WILLOW_MAX_BODY_BYTES",
        ),
        (
            configuration.retry_delay_max >= configuration.retry_delay,
            "retry_delay_max",
            "at least WILLOW_RETRY_DELAY",
        ),
        (
            configuration.tls_clients == "off" or configuration.tls_client_ca is not None,
            "tls_clients",
            "off without WILLOW_TLS_CLIENT_CA",
        ),
        (
            configuration.tls_clients == "off" or configuration.tls_certificate is not None,
            "tls_clients",
            "off without WILLOW_TLS_CERTIFICATE",
        ),
        (
            configuration.process_number < configuration.processes,
            "process_number",
            "less than WILLOW_PROCESSES",
        ),
    )
    settings = declared_settings()
    for kept, name, allowed in rules:
        if not kept:
            variable, default = settings[name].variable, settings[name].default
            raise ConfigurationError(f'{variable} is "{environ.get(variable) or default}", but it must be {allowed}.')
    if configuration.oidc_issuer and not (configuration.oidc_client_id and configuration.oidc_client_secret):
        raise ConfigurationError(
            "WILLOW_OIDC_ISSUER is set, but it also needs WILLOW_OIDC_CLIENT_ID and WILLOW_OIDC_CLIENT_SECRET."
        )
    if configuration.processes > 1 and configuration.redis_url is None and "REDIS_URL" not in supplied_later:
        raise ConfigurationError(
            f'WILLOW_PROCESSES is "{configuration.processes}", but more than one process needs REDIS_URL.'
        )
