"""The commands of workers and frontends, as frozen values like those of commands.py."""

from msgspec.structs import force_setattr

from delivery.protocol.commands import Command
from delivery.protocol.fields import (
    CONFIG_VERSION_RULE,
    ERROR_TEXT_RULE,
    SHORT_TEXT_RULE,
    Body,
    ConfigType,
    ConfigVersion,
    ErrorText,
    InFlight,
    Label,
    Name,
    PositiveSeconds,
    Seconds,
    Services,
    ShortText,
    UnixSeconds,
    WorkerServices,
    body_bytes,
    check_name,
    check_names,
    check_text,
    check_u64,
)


class CheckConfig(Command, frozen=True, kw_only=True):
    config_type: ConfigType
    config_version: ConfigVersion | None = None
    identity: ShortText
    services: WorkerServices

    def __post_init__(self) -> None:
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)
        check_text("identity", SHORT_TEXT_RULE, self.identity)
        check_names("services", self.services)


class Ready(Command, frozen=True):
    services: WorkerServices
    heartbeat_interval: PositiveSeconds
    time: UnixSeconds
    config_version: ConfigVersion = ""
    slots: InFlight = 1

    def __post_init__(self) -> None:
        check_names("services", self.services)
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)


class Ping(Command, frozen=True):
    time: UnixSeconds
    config_version: ConfigVersion = ""

    def __post_init__(self) -> None:
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)


class ClientPong(Ping, frozen=True, tag="pong"):
    """The answer to a `ping` of the broker."""


class WorkRequest(Command, frozen=True):
    service: Name
    body: Body
    label: Label = None
    timeout: Seconds | None = None

    def __post_init__(self) -> None:
        check_name("service", self.service)
        force_setattr(self, "body", body_bytes("body", self.body))
        check_u64("label", self.label)


class WorkReply(Command, frozen=True):
    work_request_identifier: ShortText
    body: Body
    time: UnixSeconds
    config_version: ConfigVersion = ""

    def __post_init__(self) -> None:
        check_text("work_request_identifier", SHORT_TEXT_RULE, self.work_request_identifier)
        force_setattr(self, "body", body_bytes("body", self.body))
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)


class WorkError(Command, frozen=True, kw_only=True):
    """The worker could not answer a request. `final`: nobody else need try."""

    work_request_identifier: ShortText
    error: ErrorText
    final: bool = False
    time: UnixSeconds
    config_version: ConfigVersion = ""

    def __post_init__(self) -> None:
        check_text("work_request_identifier", SHORT_TEXT_RULE, self.work_request_identifier)
        check_text("error", ERROR_TEXT_RULE, self.error)
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)


class NeedBroker(Command, frozen=True):
    identity: ShortText
    services: Services = ()

    def __post_init__(self) -> None:
        check_text("identity", SHORT_TEXT_RULE, self.identity)
        check_names("services", self.services)
