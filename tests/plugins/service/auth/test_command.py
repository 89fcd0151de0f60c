"""`toolcharter service`: the first token and the first user, made from a shell over a store on disk, and used at once."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from tests.plugins.service.serving import PROFILE, serving

from toolcharter import open_store
from toolcharter_service.auth.command import command
from toolcharter_service.auth.tokens import is_token
from toolcharter_service.config import read_config
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow
CONFIG = """
listen: {port: 0}
store: "sqlite://STORE"
events: ["file:EVENTS"]
auth: {passwords: true}
tenants:
  acme: {agents: {reviewer: {profile: served.yaml, workspace: acme}}}
  globex: {agents: {reviewer: {profile: served.yaml, workspace: globex}}}
"""
PASSWORD = "correct horse battery staple"


class Shop:
    """A configuration, and what runs over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "service.yaml"
        (folder / "served.yaml").write_text(PROFILE)
        for name in ("acme", "globex"):
            (folder / name).mkdir()
        text = CONFIG.replace("STORE", str(folder / "store.db")).replace("EVENTS", str(folder / "events.jsonl"))
        self.file.write_text(text)
        self.ending = ExitStack()

    def run(self, *words: str, given: str = "", tenant: str | None = "acme") -> subprocess.CompletedProcess[str]:
        """The command from a shell."""
        line = [sys.executable, "-m", "toolcharter", "service", *self._options(words, tenant)]
        return subprocess.run(line, input=given, capture_output=True, text=True, timeout=60, check=False)

    def run_here(self, *words: str, given: str = "", tenant: str | None = "acme") -> subprocess.CompletedProcess[str]:
        """The command in this process, where nothing has to start."""
        done = CliRunner().invoke(command, self._options(words, tenant), input=given, prog_name="toolcharter service")
        return subprocess.CompletedProcess([*words], done.exit_code, done.stdout, done.stderr)

    def _options(self, words: Sequence[str], tenant: str | None) -> list[str]:
        return [*words, "--config", str(self.file), *(() if tenant is None else ("--tenant", tenant))]

    def serve(self) -> httpx.Client:
        service = Service(read_config(self.file), stores=open_store(f"sqlite://{self.folder / 'store.db'}"))
        url = self.ending.enter_context(serving(create_app(service)))
        return self.ending.enter_context(httpx.Client(base_url=url, trust_env=False, timeout=60))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    made = Shop(tmp_path_factory.mktemp("shop"))
    yield made
    made.ending.close()


def who(client: httpx.Client, token: str) -> tuple[int, Any]:
    answer = client.get("/v1/session", headers={"Authorization": f"Bearer {token}"})
    return answer.status_code, answer.json().get("name")


def test_the_first_token_is_made_from_a_shell(shop: Shop, capfd: pytest.CaptureFixture[str]) -> None:
    """A service that nobody can get into says how; the token works in a process that runs already, and ends there in a second."""
    client = shop.serve()
    said = capfd.readouterr().err
    made = shop.run(
        "token", "create", "ci bot", "--role", "caller", "--role", "viewer", "--agent", "reviewer", "--days", "2"
    )
    token = made.stdout.strip()
    listed = shop.run_here("token", "list", "--json")
    [entry] = [json.loads(line) for line in listed.stdout.splitlines()]
    before = who(client, token)
    revoked = shop.run("token", "revoke", entry["id"])
    end = time.monotonic() + 60
    while who(client, token) != (401, None) and time.monotonic() < end:
        time.sleep(0.05)

    assert f"toolcharter service token create admin --role admin --tenant acme --config {shop.file}" in said
    assert (
        made.returncode,
        is_token(token),
        made.stderr.startswith(f"Token {entry['id']} of tenant acme, until "),
    ) == (
        0,
        True,
        True,
    )
    assert {name: entry[name] for name in ("name", "user", "roles", "agents")} == {
        "name": "ci bot",
        "user": None,
        "roles": ["caller", "viewer"],
        "agents": ["reviewer"],
    }
    assert entry["created_by"].startswith("shell:")
    assert token not in listed.stdout
    assert before == (200, "ci bot")
    assert (revoked.returncode, revoked.stderr) == (0, f"Revoked {entry['id']} (ci bot).\n")
    assert who(client, token) == (401, None)
    again = shop.run_here("token", "revoke", entry["id"])
    assert (again.returncode, "There is no token" in again.stderr) == (1, True)


def test_the_first_user_is_added_from_a_shell(shop: Shop) -> None:
    """The password comes from standard input, and the hash alone is kept."""
    added = shop.run("user", "add", "ann", "--role", "admin", given=f"{PASSWORD}\n", tenant="globex")
    twice = shop.run_here("user", "add", "ann", "--role", "admin", given=f"{PASSWORD}\n", tenant="globex")
    short = shop.run_here("user", "add", "bob", "--role", "admin", given="short\n", tenant="globex")
    client = shop.serve()
    body = {"tenant": "globex", "user": "ann", "password": PASSWORD}
    signed_in = client.post("/v1/login", json=body)
    listed = shop.run_here("user", "list", tenant="globex")
    elsewhere = shop.run_here("user", "list")
    removed = shop.run("user", "remove", "ann", tenant="globex")
    gone = shop.run_here("user", "remove", "ann", tenant="globex")

    assert (added.returncode, added.stderr) == (0, "Added ann to tenant globex.\n")
    assert (twice.returncode, "There is a user 'ann' already." in twice.stderr) == (1, True)
    assert (short.returncode, "password: String should have at least 15 characters" in short.stderr) == (2, True)
    assert (signed_in.status_code, signed_in.json()["roles"]) == (200, ["admin"])
    assert listed.stdout.startswith('name="ann"  roles=admin  enabled=True  created_by="shell:')
    assert (elsewhere.stdout, removed.returncode, gone.returncode) == ("", 0, 1)
    assert PASSWORD not in (shop.folder / "store.db").read_bytes().decode("latin-1")


def test_a_command_that_cannot_be_is_told(shop: Shop) -> None:
    """With what there is."""
    unknown = shop.run_here("token", "list", tenant="initech")
    none = shop.run("token", "list", tenant=None)

    assert (unknown.returncode, "no tenant 'initech'; it has acme, globex" in unknown.stderr) == (2, True)
    assert (none.returncode, "with --tenant: acme, globex" in none.stderr) == (2, True)
