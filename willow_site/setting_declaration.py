"""How a setting is declared: a field of `Configuration` with all there is to know about its variable."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from willow_site.setting_kinds import Kind

T = TypeVar("T")


class ConfigurationError(Exception):
    """A setting is wrong or missing; the message is one sentence for the person who starts Willow."""


@dataclass(frozen=True)
class Setting:
    """What is known about one variable of the environment."""

    variable: str
    kind: Kind[Any]
    default: str | None  # as one would write it; None: no value, or worked out from other settings
    about: str
    unit: str = ""
    required: bool = False
    secret: bool = False
    default_about: str = ""  # says what happens without a value when `default` is None

    def read(self, raw: str) -> Any:
        try:
            return self.kind.parse(raw)
        except ValueError:
            raise ConfigurationError(
                f"{self.variable} is {self.shown(raw)}, but it must be {self.kind.allowed}."
            ) from None

    def shown(self, raw: str) -> str:
        return "set to a value that is not shown" if self.secret else f'"{raw}"'


def setting(variable: str, kind: Kind[T], default: str | None, about: str, **more: Any) -> T:
    """Declare a field of `Configuration`; typed as the value so that readers of the field are checked."""
    declared = Setting(variable, kind, default, about, **more)
    return field(metadata={"setting": declared})
