"""Memory that large messages took goes back to the system."""

import subprocess
import sys

MEGABYTES_KEPT = """
import psutil
from willow_site.server.memory import give_back_what_is_large

if {gives_back}:
    give_back_what_is_large()
begin = psutil.Process().memory_info().rss
for _ in range(3):  # the C library learns from the first ones that such sizes come and go
    large = [bytes(bytearray(b"x") * 12_000_000) for _ in range(2)]
    del large
large = [bytes(bytearray(b"x") * 500_000) for _ in range(40)]
small = [bytes(200) for _ in range(1000)]
del large[1:]
print((psutil.Process().memory_info().rss - begin) // 1_000_000)
"""


def megabytes_kept(*, gives_back: bool) -> int:
    program = MEGABYTES_KEPT.format(gives_back=gives_back)
    return int(subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE).stdout)


def test_room_of_large_messages_is_given_back() -> None:
    kept, would_be_kept = megabytes_kept(gives_back=True), megabytes_kept(gives_back=False)
    assert kept <= 4 < would_be_kept
