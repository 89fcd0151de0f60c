"""`secret:NAME` in the variables of programs: they get the value, and nobody reads it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from toolcharter import CORE_RECORDS, Caller, SecretRecord, Toolbox, build_tools, open_store

VALUE = "undertone-" * 2
PROFILE = """
profile: deploys
runner: host
tools:
  bash: {environment: {DEPLOY_TOKEN: "secret:deploy", MODE: fast}}
allow: ["bash:printenv *", "bash:wc *"]
"""


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Toolbox]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", "cd" * 32)
    (tmp_path / "ws").mkdir()
    (tmp_path / "p.yaml").write_text(PROFILE)

    def make() -> Toolbox:
        return build_tools(tmp_path / "p.yaml", workspace=tmp_path / "ws", events=f"file:{tmp_path}/events.jsonl")

    return make


def test_a_program_gets_the_value_and_the_model_a_mask(build: Callable[[], Toolbox], tmp_path: Path) -> None:
    """Of the caller's tenant. The digest is of the name: another value is the same profile."""
    with open_store() as store:
        store.bound("", CORE_RECORDS).put(SecretRecord(name="deploy", value=VALUE))
    with build() as toolbox:
        length = toolbox.call("bash", {"command": "printenv DEPLOY_TOKEN | wc -c"})
        shown = toolbox.call("bash", {"command": "printenv DEPLOY_TOKEN MODE"})
        other = toolbox.for_caller(Caller(tenant="acme")).call("bash", {"command": "printenv MODE"})
        digest = toolbox.digest

    assert length.text.strip().endswith(str(len(VALUE) + 1))
    assert shown.outcome == "ok"
    assert "fast" in shown.text
    assert VALUE not in (tmp_path / "events.jsonl").read_text() + shown.text
    assert (other.outcome, other.reason) == ("denied", "store_unavailable")
    with open_store() as store:
        store.bound("", CORE_RECORDS).put(SecretRecord(name="deploy", value=VALUE + "2"))
    with build() as again:
        assert again.digest == digest


def test_a_secret_that_is_not_there_starts_nothing(build: Callable[[], Toolbox]) -> None:
    """A program never gets the reference in its place."""
    with build() as toolbox:
        denied = toolbox.call("bash", {"command": "printenv MODE"})

    assert (denied.outcome, denied.reason) == ("denied", "store_unavailable")
    assert denied.message == "The store has no secret 'deploy'."
