"""What `toolcharter worker --config FILE` reads, and refuses."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from toolcharter import ConfigurationError
from toolcharter_service.workers.command import command
from toolcharter_service.workers.remote import RemotePolicy
from toolcharter_service.workers.settings import read_worker


def write(folder: Path, text: str) -> Path:
    """A configuration."""
    (folder / "ws").mkdir(exist_ok=True)
    file = folder / "worker.yaml"
    file.write_text(text)
    return file


def test_the_least_is_a_bus_and_a_workspace(tmp_path: Path) -> None:
    """A sandbox without network is the default."""
    config, (one,) = read_worker(write(tmp_path, "bus: nats://h\nworkspaces: [{name: repo, folder: ws}]\n"))

    assert (config.slots, one.settings.runner, one.settings.network) == (4, "bwrap", False)
    assert one.folder == (tmp_path / "ws").resolve()


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param(
            "bus: nats://h\nworkspaces:\n- {name: repo, folder: none}\n- {name: repo, folder: ws, runner: nope}\n",
            ["worker.yaml:4:10: workspaces.1.name: 'repo' occurs twice.", "worker.yaml:3:24: workspaces.0.folder: there is no"],
            id="all-at-once",
        ),
        pytest.param("bus: nats://h\nworkspaces: []\n", ["worker.yaml:2:13: workspaces"], id="none"),
        pytest.param("bus: nats://h\n", ["workspaces"], id="missing"),
        pytest.param(
            "bus: nats://h\nworkspaces: [{name: repo, folder: ws, settings: {none: 1}}]\n",
            ["worker.yaml:2:", "workspaces.0.runner"],
            id="settings",
        ),
    ],
)  # fmt: skip
def test_faults_are_told_at_their_places(tmp_path: Path, text: str, faults: list[str]) -> None:
    """All of them."""
    with pytest.raises(ConfigurationError) as refused:
        read_worker(write(tmp_path, text))
    for fault in faults:
        assert fault in str(refused.value)


def test_the_environment_may_hold_the_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And has to, then."""
    monkeypatch.delenv("WORKER_BUS", raising=False)
    file = write(tmp_path, "bus: {env: WORKER_BUS}\nworkspaces: [{name: repo, folder: ws}]\n")
    ran = CliRunner().invoke(command, ["--config", str(file)])
    assert (ran.exit_code, "'WORKER_BUS' is not set" in ran.output) == (2, True)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({"workspace": "repo"}, id="no-bus"),
        pytest.param({"workspace": "repo", "bus": "nats://h", "bus_env": "B"}, id="two"),
        pytest.param({"workspace": "a.b", "bus": "nats://h"}, id="name"),
        pytest.param({"workspace": "repo", "bus": "nats://h", "lease_s": 0.5}, id="lease"),
    ],
)
def test_a_policy_that_means_nothing_is_refused(policy: dict[str, object]) -> None:
    """When the profile is read."""
    with pytest.raises(ValueError, match="validation error"):
        RemotePolicy(**policy)  # type: ignore[arg-type] # that is what is tried
