"""Kinds of values that several sections have."""

from urllib.parse import SplitResult

from willow_site import setting_kinds as kinds
from willow_site.project_folder import PROJECT_FOLDER

MEBIBYTE = 1024 * 1024  # bytes
SECONDS_PER_YEAR = 31_536_000
SECONDS = kinds.number(0, SECONDS_PER_YEAR)
SHORT_INTERVAL = kinds.number(0.01, 3600)
PLACE = kinds.text(r"[ -~]+", "a folder, or a URL that Spark can write to, such as s3a://bucket/willow")
FILE = kinds.file(relative_to=PROJECT_FOLDER)
NAME = kinds.text(r"[!-~]{1,100}", "1 to 100 printable ASCII characters without spaces")


def has_host(parts: SplitResult) -> bool:
    return bool(parts.hostname)
