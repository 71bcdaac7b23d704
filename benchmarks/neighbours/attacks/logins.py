"""Two hundred logins at once, each with a password that has to be hashed to be refused."""

import asyncio
import re
from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over
from benchmarks.neighbours.http_request import HttpRequest

NAME = "logins"
AT_ONCE = 220
PAUSE_SECONDS = 0.5  # after each
COOKIE = re.compile(rb"Set-Cookie: *csrftoken=([^;]+)", re.IGNORECASE)


async def attack(target: Target, seconds: float) -> Spoils:
    got: Spoils = Counter()
    end = deadline(seconds)
    async with HttpRequest(target, "GET /admin/login/ HTTP/1.1", "Connection: close") as page:
        found = COOKIE.search(await page.all())
    token = found[1].decode() if found else ""
    await asyncio.gather(*(_log_in(target, end, number, token, got) for number in range(AT_ONCE)))
    return got


async def _log_in(target: Target, end: float, number: int, token: str, got: Spoils) -> None:
    while not is_over(end):
        form = f"csrfmiddlewaretoken={token}&username=guest{number}&password=guessed"
        headers = (
            "Connection: close",
            "Content-Type: application/x-www-form-urlencoded",
            f"Cookie: csrftoken={token}",
            f"Content-Length: {len(form)}",
        )
        async with HttpRequest(target, "POST /admin/login/ HTTP/1.1", *headers) as request:
            await request.send(form.encode())
            got[await request.status()] += 1
        await asyncio.sleep(PAUSE_SECONDS)
