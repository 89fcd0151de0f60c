"""`toolcharter serve` as a process: what stops it before it starts, several workers, and how it ends."""

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from tests.ports import own_port

from toolcharter import CORE_RECORDS, ConfigurationError, SecretRecord, open_store
from toolcharter_service.command import command as serve

from .serving import PROFILE

pytestmark = pytest.mark.slow

EVERYTHING_WRONG = """\
listen: {port: "81", host: nowhere}
store: "nope:"
bus: "nope:"
events: ["fil:x", "file:nowhere/x", {env: TOOLCHARTER_TEST_NOTHING}]
hosts: ["a b"]
auth:
  jwt: [{issuer: x, jwks: nowhere, audience: x, claims: {roles: [], tenant: nobody}}]
tenants:
  acme:
    agents:
      a: {profile: ./p.yaml, workspace: nowhere}
      b: {profile: nobody, workspace: .}
      c: {profle: x, workspace: .}
  be/b: {agents: {x: {profile: x, workspace: .}}}
"""
SIGNS_IN_AT_A_PROVIDER = """\
auth:
  oidc:
    issuer: https://login.example.org
    client_id: toolcharter
    client_secret: secret:oidc
    redirect_uri: https://tools.example.org/login/oidc/callback
    claims: {tenant: acme}
tenants: {acme: {agents: {a: {profile: ./p.yaml, workspace: work}}}}
store: {env: TOOLCHARTER_TEST_STORE}
"""


def _serve(place: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "state"), "HOME": str(place)}
    command = [sys.executable, "-m", "toolcharter", "serve", *words]
    return subprocess.Popen(command, cwd=place, env=environment, stderr=subprocess.PIPE, text=True)


def _until_it_answers(url: str, server: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < until:
        try:
            httpx.get(f"{url}/healthz", timeout=60).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the service did not answer")


def test_faults_of_file_and_profiles_stop_it(tmp_path: Path) -> None:
    """With their places, and without a traceback."""
    (tmp_path / "work").mkdir()
    (tmp_path / "p.yaml").write_text("profile: p\ntools: {read_fil: {}}\n")
    (tmp_path / "service.yaml").write_text(
        "tenants: {acme: {agents: {a: {profile: ./p.yaml, workspace: work}, b: {profile: nobody, workspace: work}}}}\n"
    )

    server = _serve(tmp_path, "--config", "service.yaml", "--port", str(own_port()))
    _, told = server.communicate(timeout=60)

    assert server.returncode != 0
    assert f"{tmp_path / 'p.yaml'}:2:9: tools.read_fil: no installed plugin provides a tool named 'read_fil'." in told
    assert "tenants.acme.agents.b.profile: there is no profile named 'nobody'." in told
    assert "Traceback" not in told


def test_everything_wrong_is_told_at_once_and_nothing_is_written(tmp_path: Path) -> None:
    """The file's form, what it names, the profiles behind it, the store, bus and sinks: each with its place, in one go."""
    (tmp_path / "p.yaml").write_text("profile: p\ncolour: red\ntools: {read_fil: {}}\n")
    (tmp_path / "tools_bootstrap.json").write_text("[")
    (tmp_path / "service.yaml").write_text(EVERYTHING_WRONG)

    found = _serve(tmp_path, "--config", "service.yaml", "--check")
    _, told = found.communicate(timeout=60)

    assert re.findall(r"^(\S+:\d+:\d+: \S+:) ", told.replace(f"{tmp_path}/", ""), re.MULTILINE) == [
        "service.yaml:1:16: listen.port:",
        "service.yaml:1:28: listen.host:",
        "service.yaml:2:8: store:",
        "service.yaml:3:6: bus:",
        "service.yaml:4:10: events.0:",
        "service.yaml:4:19: events.1:",
        "service.yaml:4:43: events.2.env:",
        "service.yaml:5:9: hosts.0:",
        "service.yaml:7:27: auth.jwt.0.jwks:",
        "service.yaml:7:77: auth.jwt.0.claims.tenant:",
        "service.yaml:11:41: tenants.acme.agents.a.workspace:",
        "service.yaml:12:20: tenants.acme.agents.b.profile:",
        "service.yaml:13:10: tenants.acme.agents.c.profile:",
        "service.yaml:13:11: tenants.acme.agents.c.profle:",
        "service.yaml:14:9: tenants.be/b:",
        "p.yaml:2:1: colour:",
        "p.yaml:3:9: tools.read_fil:",
    ]
    assert "tools_bootstrap.json:1:1: the file is in the workspace of the agent 'b' of 'acme'" in told
    assert "Traceback" not in told
    assert (found.returncode, list(tmp_path.rglob("*.db"))) == (2, [])


def test_a_check_serves_nothing(tmp_path: Path) -> None:
    """A sound file passes, though another process has the port; no store is made for it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "p.yaml").write_text(PROFILE)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "service.yaml").write_text(
            f"listen: {{port: {taken.getsockname()[1]}}}\n"
            "tenants: {acme: {agents: {a: {profile: ./p.yaml, workspace: work}}}}\n"
        )
        found = _serve(tmp_path, "--config", "service.yaml", "--check")
        _, told = found.communicate(timeout=60)

    assert (found.returncode, told, list(tmp_path.rglob("*.db"))) == (0, "", [])


def test_a_secret_that_the_file_names_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store answers: without the secret people could not sign in, and one that nobody can decrypt is none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", secrets.token_hex(32))
    (tmp_path / "work").mkdir()
    (tmp_path / "p.yaml").write_text(PROFILE)
    (tmp_path / "service.yaml").write_text(SIGNS_IN_AT_A_PROVIDER)
    monkeypatch.setenv("TOOLCHARTER_TEST_STORE", f"sqlite://{tmp_path}/store.db")
    with open_store(f"sqlite://{tmp_path}/store.db") as stores:
        stores.bound("", CORE_RECORDS).last_change()

    def faults() -> list[tuple[str, str]]:
        found = CliRunner().invoke(serve, ["--config", str(tmp_path / "service.yaml"), "--check"])
        told = found.exception.faults if isinstance(found.exception, ConfigurationError) else ()
        return [(fault.place.rpartition("/")[2], fault.what) for fault in told]

    missing = faults()
    with open_store(f"sqlite://{tmp_path}/store.db") as stores:
        stores.bound("", CORE_RECORDS).put(SecretRecord(name="oidc", value=secrets.token_hex(8)))
    there = faults()
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", secrets.token_hex(32))
    locked = faults()

    assert missing == [("service.yaml:5:20", "there is no secret 'oidc'.")]
    assert there == []
    assert [place for place, _ in locked] == ["service.yaml:5:20"]
    assert locked[0][1].startswith("the secret 'oidc' cannot be read: ")


def test_a_served_profile_answers_curl_and_ends_a_long_call_when_it_stops(tmp_path: Path) -> None:
    """`serve --dev` takes any agent; on SIGTERM it is gone within its time."""
    (tmp_path / "p.yaml").write_text(PROFILE)
    (tmp_path / "work").mkdir()
    port = own_port()
    url = f"http://127.0.0.1:{port}"
    server = _serve(tmp_path, "--dev", "-p", "./p.yaml", "-w", "work", "--port", str(port), "--events", "file:e.jsonl")
    _until_it_answers(url, server)
    curl = [
        "curl",
        "-s",
        "-X",
        "POST",
        f"{url}/v1/calls",
        "-H",
        "Content-Type: application/json",
        "-H",
        "X-Agent-ID: any",
    ]

    answer = subprocess.run([*curl, "-d", '{"tool":"list_files"}'], capture_output=True, text=True, check=True)
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=60)

    assert '"outcome":"ok"' in answer.stdout
    assert server.returncode in {0, -signal.SIGTERM}
    assert "toolbox.close" in (tmp_path / "e.jsonl").read_text()
