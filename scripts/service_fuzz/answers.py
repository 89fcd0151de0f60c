"""`Judge`: checks answers against the OpenAPI document, the table of roles, and a list of forbidden texts."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs
from tests.plugins.service.test_routes import PUBLIC, TABLE

from service_fuzz.world import Answer, Request, Who

OPEN = frozenset({*PUBLIC, "POST /v1/login", "POST /login", "GET /login"})
BEFORE_ROUTES = {400, 403, 408, 413, 415, 431}
"""The statuses with which a request may be refused before its token is checked."""
FORBIDDEN = (
    b"Traceback (most recent",
    b'File "/',
    b"site-packages",
    b"sqlalchemy",
    b"sqlite3.",
    b"/store/service.db",
    b"AAECAwQFBgc",
)
_ROUTING = {"unknown_route", "method_not_allowed"}


class Judge:
    """Knows the document; `faults` reports what is wrong with an answer."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._responses: dict[str, Mapping[str, Any]] = {}
        self._paths: list[tuple[re.Pattern[str], str]] = []
        self._validators: dict[tuple[str, str], Any] = {}
        components = document["components"]
        for path, methods in document["paths"].items():
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))
            self._paths.append((re.compile(pattern), path))
            for method, operation in methods.items():
                label = f"{method.upper()} {path}"
                self._responses[label] = operation["responses"]
                for status, response in operation["responses"].items():
                    for kind in response.get("content", {}).values():
                        whole = {**kind.get("schema", {}), "components": components}
                        self._validators[label, status] = jsonschema_rs.Draft202012Validator(whole)
        self._paths.sort(key=lambda one: one[1].count("{"))

    def operation(self, method: str, path: str) -> str | None:
        """Return the operation of a request according to its decoded path; None if there is none."""
        found = next((f"{method} {name}" for pattern, name in self._paths if pattern.fullmatch(path)), None)
        return found if found in self._responses else None

    def faults(self, request: Request, who: Who, answer: Answer, path: str) -> Iterator[tuple[str, str]]:
        """Yield the faults of an answer, each as a word and a text."""
        label = self.operation(request.method, path)
        if answer.error is not None:
            yield "raised", f"{type(answer.error).__name__}: {answer.error}"
            return
        reason = reason_of(answer)
        if answer.status >= 500 and not (
            answer.status in {501, 504} or reason in {"too_busy", "cancelled"} or label == "GET /readyz"
        ):
            yield "server error", f"{answer.status} {reason}"
        yield from _leaks(answer)
        if label is None:
            if answer.status < 400 or (answer.status in {404, 405} and reason not in _ROUTING):
                yield "route without a document", f"{answer.status} {reason}"
            return
        yield from self._undocumented(label, answer)
        yield from _authority(label, who, answer, reason)

    def _undocumented(self, label: str, answer: Answer) -> Iterator[tuple[str, str]]:
        documented = self._responses[label].get(str(answer.status))
        if documented is None:
            yield "status", f"{answer.status} {reason_of(answer)} is not documented"
            return
        kind = answer.headers.get(b"content-type", b"").partition(b";")[0].decode()
        content = documented.get("content", {})
        if kind not in content and (answer.body or content) and answer.status != 303:
            yield "content type", f"{answer.status} {kind}, documented are {sorted(content)}"
        elif kind == "application/json" and (answer.body or content):
            try:
                value = json.loads(answer.body)
            except ValueError as error:
                yield "no JSON", str(error)
                return
            fault = next(self._validators[label, str(answer.status)].iter_errors(value), None)
            if fault is not None:
                yield "schema", f"{answer.status} {fault.instance_path}: {fault.message[:300]}"


def reason_of(answer: Answer) -> str:
    """Return the stable word of a problem; empty for other answers."""
    if answer.status < 400 or not answer.body.startswith(b"{"):
        return ""
    try:
        return str(json.loads(answer.body).get("reason", ""))
    except ValueError:
        return ""


def _leaks(answer: Answer) -> Iterator[tuple[str, str]]:
    for text in FORBIDDEN:
        if text in answer.body:
            yield "tells too much", f"{answer.status} {text.decode()}"
    for name, value in answer.headers.items():
        if b"\r" in value or b"\n" in value or b"\0" in value:
            yield "header", f"{name!r} {value[:100]!r}"
    for name in (b"x-content-type-options", b"cache-control", b"content-security-policy"):
        if name not in answer.headers:
            yield "header", f"{answer.status} without {name.decode()}"
    needed = {401: b"www-authenticate", 429: b"retry-after"}.get(answer.status)
    if needed is not None and needed not in answer.headers:
        yield "header", f"{answer.status} {reason_of(answer)} without {needed.decode()}"


def _authority(label: str, who: Who, answer: Answer, reason: str) -> Iterator[tuple[str, str]]:
    if label in OPEN:
        return
    if not who.role:
        if answer.status != 401 and answer.status not in BEFORE_ROUTES:
            yield "nobody", f"is answered with {answer.status} {reason}"
        return
    may = who.role in TABLE.get(label, "viewer caller approver operator admin").split()
    if not may and answer.status not in BEFORE_ROUTES:
        yield "role", f"{who.role} is answered with {answer.status} {reason}"
    if may and (
        (answer.status == 401 and reason == "unauthenticated" and "login" not in label) or reason == "role_missing"
    ):
        yield "role", f"{who.role} is refused with {answer.status} {reason}"
