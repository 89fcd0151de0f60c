"""An issuer of JSON Web Tokens, whose keys lie on a server of loopback."""

import json
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

Key = RSAKey | ECKey | OKPKey | OctKey


class Issuer:
    """Signs tokens, and shows its keys."""

    def __init__(self) -> None:
        self.keys: dict[str, Key] = {
            "rsa": RSAKey.generate_key(2048, {"kid": "rsa"}),
            "ec": ECKey.generate_key("P-256", {"kid": "ec"}),
        }
        self.asked = 0
        self.is_away = False
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                sent = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = json.dumps(issuer.answer(self.path, sent, headers)).encode()
                self.send_response(500 if issuer.is_away else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815 - the name that `http.server` looks for

            def log_message(self, *_: Any) -> None:
                """Nothing is printed."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/jwks"
        self.network: dict[str, list[Any]] = {"allowed_private": ["127.0.0.1"], "ports": [self.port]}

    def document(self) -> dict[str, Any]:
        return {"keys": [key.as_dict(private=False) for key in self.keys.values() if not isinstance(key, OctKey)]}

    def answer(self, path: str, sent: str, headers: Mapping[str, str]) -> Any:
        """What a request gets, as JSON."""
        return self.document()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Provider(Issuer):
    """An OpenID provider where everybody has signed in already: codes stand for what it will say of a person.

    It is as wrong as a test asks it to be: `said` changes the claims of ID tokens, `metadata` what it says of itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.said: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.redeemed: list[dict[str, str]] = []
        """The forms with codes that came, with what came in the header beside them."""
        self.nonce = ""

    def answer(self, path: str, sent: str, headers: Mapping[str, str]) -> Any:
        if path == "/jwks":
            return self.document()
        if path == "/token":
            form = {name: values[0] for name, values in parse_qs(sent).items()}
            self.redeemed.append(form | {"authorization": headers.get("authorization", "")})
            return {"access_token": "x", "token_type": "Bearer", "id_token": self.id_token()}
        ends = {"authorization_endpoint": "/auth", "token_endpoint": "/token", "jwks_uri": "/jwks"}
        return {"issuer": self.issuer, **{name: self.issuer + end for name, end in ends.items()}, **self.metadata}

    def id_token(self) -> str:
        now = int(time.time())
        whole = {
            "iss": self.issuer,
            "aud": "client",
            "sub": "ann",
            "nonce": self.nonce,
            "iat": now,
            "exp": now + 60,
            "groups": ["people"],
        }
        said = {name: value for name, value in (whole | self.said).items() if value is not ...}
        return sign_token(self.keys["rsa"], "RS256", said)


class _Any(JWSRegistry):
    max_header_length = 8_192


def sign_token(key: Key, algorithm: str, said: Mapping[str, Any], **header: Any) -> str:
    full = {name: value for name, value in {"alg": algorithm, "kid": "rsa", **header}.items() if value is not ...}
    return jwt.encode(full, dict(said), key, registry=_Any(algorithms=[algorithm], strict_check_header=False))
