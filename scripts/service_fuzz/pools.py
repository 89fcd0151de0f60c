"""`Pools`: schemathesis's cases of each operation, right and wrong, as parts from which requests are made.

Hypothesis needs some ten milliseconds for a case, which is longer than the service takes to answer it. So cases are
made once, and taken apart.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core import NotSet
from schemathesis.core.result import Ok

Pairs = list[tuple[bytes, bytes]]
JSON, FORM = b"application/json", b"application/x-www-form-urlencoded"


@dataclass
class Parts:
    """The parts of one operation's cases."""

    method: str
    path: str
    segments: dict[str, list[str]] = field(default_factory=dict)
    """Values in the form in which a path has them, by parameter."""
    queries: list[bytes] = field(default_factory=lambda: [b""])
    headers: list[Pairs] = field(default_factory=lambda: [[]])
    bodies: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Media type and bytes."""

    @property
    def label(self) -> str:
        """The operation's name in the document."""
        return f"{self.method} {self.path}"

    def add(self, case: Any) -> None:
        """Take a case apart."""
        for name, value in (case.path_parameters or {}).items():
            self.segments.setdefault(name, []).append(quote(_text(value), safe="%!$&'()*+,;=:@-._~"))
        if case.query:
            found = [(name, _text(one)) for name, value in case.query.items() for one in _listed(value)]
            self.queries.append(urlencode(found, errors="surrogatepass").encode())
        if case.headers:
            pairs = [
                (name.lower().encode(), _text(value).encode("utf-8", "replace")) for name, value in case.headers.items()
            ]
            self.headers.append(pairs)
        if not isinstance(case.body, NotSet):
            kind = FORM if "form" in (case.media_type or "") else JSON
            self.bodies.append((kind, _encoded(case.body, kind)))


def make_pools(document: dict[str, Any], number: int, examples: int) -> dict[str, Parts]:
    """Ask schemathesis for *examples* right and as many wrong cases of each operation."""
    pools: dict[str, Parts] = {}
    for result in schemathesis.openapi.from_dict(document).get_all_operations():
        if not isinstance(result, Ok):
            continue
        operation = result.ok()
        parts = pools[operation.label] = Parts(operation.method.upper(), operation.path)
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            _collect(parts, operation, mode, number, examples)
    return pools


def _collect(parts: Parts, operation: Any, mode: GenerationMode, number: int, examples: int) -> None:
    quiet = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.filter_too_much,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )

    @seed(number)
    @quiet
    @given(case=operation.as_strategy(generation_mode=mode))
    def collected(case: Any) -> None:
        parts.add(case)

    try:
        collected()
    except Unsatisfiable:
        return  # An operation without parameters and body has no wrong cases.


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _encoded(body: Any, kind: bytes) -> bytes:
    if isinstance(body, bytes):
        return body
    if kind == FORM and isinstance(body, dict):
        found = [(name, _text(value)) for name, value in body.items()]
        return urlencode(found, errors="surrogatepass").encode()
    return json.dumps(body, default=str).encode()
