"""The addresses from which a key is good: networks such as 10.0.0.0/8, or none for everywhere."""

import ipaddress
from collections.abc import Iterable, Sequence

from django.core.exceptions import ValidationError

EXAMPLE = "10.0.0.0/8"
MOST = 100  # of one key


def read_ranges(texts: Iterable[str]) -> list[str]:
    ranges = []
    for text in texts:
        try:
            ranges.append(str(ipaddress.ip_network(text.strip())))
        except ValueError as error:
            raise ValidationError(f"An address range must be a network such as {EXAMPLE}: {error}.") from None
    if len(ranges) > MOST:
        raise ValidationError(f"A key has at most {MOST} address ranges, not {len(ranges)}.")
    return ranges


def is_within(address: str, ranges: Sequence[str]) -> bool:
    """Whether a caller's address is in one of them, or there are none. An IPv4 caller of an IPv6 socket is one."""
    if not ranges:
        return True
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(parsed in ipaddress.ip_network(text) for text in ranges)
