"""A small OpenID Connect provider: whoever asks is the person that the test names."""

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET = "willow", "a-secret-of-the-provider"


class Provider:
    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "1", "preferred_username": "nobody"}
        self.token_changes: dict[str, Any] = {}  # for a provider that lies
        self.signing_key = self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.issuer = ""
        self._asked: dict[str, dict[str, str]] = {}  # by code

    def discovery(self) -> dict[str, Any]:
        paths = {
            "authorization_endpoint": "ask",
            "token_endpoint": "token",
            "userinfo_endpoint": "who",
            "jwks_uri": "keys",
        }
        return {"issuer": self.issuer, **{name: f"{self.issuer}/{path}" for name, path in paths.items()}}

    def keys(self) -> dict[str, Any]:
        shown = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**shown, "kid": "one", "alg": "RS256", "use": "sig"}]}

    def agree(self, asked: dict[str, str]) -> str:
        """Where the browser goes after the person has said yes."""
        assert asked["client_id"] == CLIENT_ID and asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self._asked[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, given: dict[str, str]) -> dict[str, Any]:
        assert (given["client_id"], given["client_secret"]) == (CLIENT_ID, CLIENT_SECRET) and given["code_verifier"]
        asked, now = self._asked.pop(given["code"]), int(time.time())
        content = {"iss": self.issuer, "aud": CLIENT_ID, "sub": self.claims["sub"], "iat": now, "exp": now + 600}
        content |= {"nonce": asked["nonce"], **self.token_changes}
        signed = jwt.encode(content, self.signing_key, algorithm="RS256", headers={"kid": "one"})
        return {"access_token": "token", "token_type": "Bearer", "id_token": signed}


@contextmanager
def running_provider() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            if address.path == "/ask":
                self.send_response(302)
                self.send_header("Location", provider.agree(_flat(address.query)))
                self.end_headers()
                return
            answers = {
                "/.well-known/openid-configuration": provider.discovery,
                "/keys": provider.keys,
                "/who": lambda: provider.claims,
            }
            self._answer(answers[address.path]())

        def do_POST(self) -> None:
            self._answer(provider.token(_flat(self.rfile.read(int(self.headers["Content-Length"])).decode())))

        def _answer(self, content: Any) -> None:
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}
