"""A person in front of the console, as far as a benchmark needs one: logs in and asks for pages."""

import http.cookiejar
import re
import secrets
import time
import urllib.parse
import urllib.request

from benchmarks.broker_process import BrokerProcess

PASSWORD = "correct horse battery staple"
PAGE_SECONDS = 60


class Operator:
    def __init__(self, broker: BrokerProcess) -> None:
        """Makes the account, and logs in."""
        name = f"operator-{secrets.token_hex(4)}"
        account = ("--no-input", "--verbosity=0", f"--username={name}", "--email=")
        broker.manage("createsuperuser", *account, password=PASSWORD)
        self._address = broker.http_url
        cookies = http.cookiejar.CookieJar()
        self._browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
        form = self._open("/admin/login/").decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
        assert token is not None
        fields = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": token[1], "next": "/console/nodes/"}
        self._open("/admin/login/", urllib.parse.urlencode(fields).encode())

    def milliseconds_for(self, path: str, **query: str) -> float:
        """Until the whole page is there."""
        started = time.perf_counter()
        page = self._open(f"{path}?{urllib.parse.urlencode(query)}")
        passed = time.perf_counter() - started
        assert b'class="screen"' in page, "this is not the page that was asked for"
        return passed * 1000

    def _open(self, path: str, form: bytes | None = None) -> bytes:
        with self._browser.open(self._address + path, form, PAGE_SECONDS) as answer:
            content: bytes = answer.read()
            return content
