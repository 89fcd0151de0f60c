"""Requests that the OpenAPI document permits, and those that it does not: no 500, and answers as documented."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from service_fuzz.answers import Judge
from service_fuzz.world import Answer, Request, Who

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
ADMIN, NOBODY = Who("acme/admin", "acme", "admin", ()), Who("nobody", "", "", ())
VIEWER = Who("acme/viewer", "acme", "viewer", ())
HARDENED = {b"x-content-type-options": b"nosniff", b"cache-control": b"no-store", b"content-security-policy": b"none"}
DOCUMENT = {
    "components": {"schemas": {"Listed": {"type": "object", "required": ["tokens"]}}},
    "paths": {
        "/v1/tokens": {
            "get": {
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Listed"}}}},
                    "500": {"content": {"application/json": {"schema": {}}}},
                    "401": {"content": {"application/json": {"schema": {}}}},
                }
            }
        }
    },
}


def test_a_short_run_finds_nothing_and_goes_on(tmp_path: Path) -> None:
    """The long one is `make fuzz-service`; one that was ended has its requests counted."""
    (tmp_path / "11.0.json").write_text(json.dumps({"statuses": {"GET /healthz 200": 100}, "findings": {}}))
    options = [
        "--requests",
        "500",
        "--seed",
        "11",
        "--processes",
        "1",
        "--at-once",
        "1",
        "--examples",
        "2",
        "--state",
        str(tmp_path),
    ]
    command = [sys.executable, str(ROOT / "scripts/fuzz_service.py"), *options]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (ran.returncode, "0 findings" in ran.stdout) == (0, True), ran.stdout + ran.stderr
    asked = json.loads((tmp_path / "11.1.json").read_text())["statuses"]
    assert sum(asked.values()) >= 400
    assert len({place.rpartition(" ")[2] for place in asked}) > 5


def judged(who: Who, status: int, body: Any, path: str = "/v1/tokens", **headers: bytes) -> list[str]:
    """The kinds of faults of an answer."""
    given = {b"content-type": b"application/json", b"www-authenticate": b"Bearer", **HARDENED}
    answer = Answer(status, {**given, **{name.encode(): value for name, value in headers.items()}}, body.encode())
    request = Request("GET", path.encode(), [], None)
    return [kind for kind, _ in Judge(DOCUMENT).faults(request, who, answer, path)]


@each_row(
    ("who", "status", "body", "kinds"),
    [
        (ADMIN, 200, '{"tokens": []}', []),
        (ADMIN, 200, "{}", ["schema"]),
        (ADMIN, 200, "{", ["no JSON"]),
        (ADMIN, 500, '{"reason": "unexpected_failure"}', ["server error"]),
        (ADMIN, 409, '{"reason": "changed"}', ["status"]),
        (ADMIN, 401, '{"reason": "unauthenticated"}', ["role"]),
        (NOBODY, 401, '{"reason": "unauthenticated"}', []),
        (NOBODY, 200, '{"tokens": []}', ["nobody"]),
        (VIEWER, 200, '{"tokens": []}', ["role"]),
        (ADMIN, 200, '{"tokens": ["Traceback (most recent call last)"]}', ["tells too much"]),
    ],
)
def test_what_is_wrong_with_an_answer_is_found(who: Who, status: int, body: str, kinds: list[str]) -> None:
    """Each fault by itself, and none of an answer as it is documented."""
    assert judged(who, status, body) == kinds


def test_a_route_without_a_document_is_found() -> None:
    """Where there is none, there is nothing but 404 and 405."""
    assert judged(ADMIN, 200, "{}", "/v1/other") == ["route without a document"]
    assert judged(ADMIN, 404, '{"reason": "unknown_route"}', "/v1/other") == []
