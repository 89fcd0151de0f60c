"""The configuration of the service: what it takes, and how each fault is told."""

from pathlib import Path

import pytest
from tests.plugins.service.serving import NoStores

from toolcharter import ConfigurationError
from toolcharter_service.config import FromEnvironment, read_config, url_of
from toolcharter_service.service import Service

GOOD = """
listen: {port: 0}
store: {env: SERVICE_STORE}
tenants:
  acme:
    agents:
      reviewer: {profile: reviewer, workspace: work}
      coder: {profile: ./coder.yaml, workspace: work}
"""


def test_paths_begin_in_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare name stays the name of a profile; URLs with passwords come from the environment."""
    monkeypatch.setenv("SERVICE_STORE", "sqlite:")
    (tmp_path / "work").mkdir()
    (tmp_path / "service.yaml").write_text(GOOD)

    config = read_config(tmp_path / "service.yaml").config

    agents = config.tenants["acme"].agents
    assert (agents["reviewer"].profile, agents["reviewer"].workspace) == ("reviewer", str(tmp_path / "work"))
    assert agents["coder"].profile == str(tmp_path / "coder.yaml")
    assert config.store == FromEnvironment(env="SERVICE_STORE")
    assert url_of(config.store) == "sqlite:"


def test_events_may_go_where_a_password_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable holds the URL; one that is not set is told with its place."""
    monkeypatch.setenv("SERVICE_STORE", "sqlite:")
    (tmp_path / "work").mkdir()
    (tmp_path / "service.yaml").write_text(f'events: ["stderr:", {{env: SERVICE_EVENTS}}]{GOOD}')
    with pytest.raises(ConfigurationError, match=r"service\.yaml:1:.*'SERVICE_EVENTS' is not set"):
        read_config(tmp_path / "service.yaml")

    monkeypatch.setenv("SERVICE_EVENTS", f"file:{tmp_path / 'events.jsonl'}")
    service = Service(read_config(tmp_path / "service.yaml"), stores=NoStores())
    assert service.sinks == ["stderr:", f"file:{tmp_path / 'events.jsonl'}"]


def test_all_faults_are_told_at_once_with_their_places(tmp_path: Path) -> None:
    """As those of a profile: the line and the column, what is wrong, and what to do."""
    (tmp_path / "service.yaml").write_text("""
listen: {port: "8081", hosst: x}
storre: "sqlite:"
tenants:
  "a/b": {agents: {x: {profile: reviewer, workspace: .}}}
  acme: {agents: {}}
""")

    with pytest.raises(ConfigurationError) as found:
        read_config(tmp_path / "service.yaml")

    file = tmp_path / "service.yaml"
    assert [str(fault).partition("\n")[0] for fault in found.value.faults] == [
        f"{file}:2:16: listen.port: expected a whole number, found the text '8081'.",
        f"{file}:2:24: listen.hosst: unknown key 'hosst'.",
        f"{file}:3:1: storre: unknown key 'storre'.",
        f"{file}:5:10: tenants.a/b: expected text that matches '^[A-Za-z0-9][A-Za-z0-9_-]{{0,63}}$', found the text 'a/b'.",
        f"{file}:6:18: tenants.acme.agents: expected at least 1 items, found a mapping.",
    ]


def test_what_the_machine_lacks_is_told_at_once(tmp_path: Path) -> None:
    """A folder that is not there, a variable that is not set, an address that others reach without a name for it; a tenant that there is not."""
    (tmp_path / "service.yaml").write_text(
        f"listen: {{host: 0.0.0.0}}\ngateway_tenant: acmee\n{GOOD.replace('listen: {port: 0}', '')}"
    )

    with pytest.raises(ConfigurationError) as found:
        read_config(tmp_path / "service.yaml")

    assert [(fault.path, fault.what) for fault in found.value.faults] == [
        ("listen.host", "0.0.0.0 can be reached from other machines, but `hosts` is empty."),
        ("gateway_tenant", "there is no tenant 'acmee'."),
        ("store.env", "the environment variable 'SERVICE_STORE' is not set."),
        ("tenants.acme.agents.reviewer.workspace", f"there is no folder {str(tmp_path / 'work')!r}."),
        ("tenants.acme.agents.coder.workspace", f"there is no folder {str(tmp_path / 'work')!r}."),
    ]
