"""What the registry holds from the start, and what stops it."""

import json
import os
from pathlib import Path

import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.registry_sessions import NOW
from tests.plugins.service.serving import configured
from tests.rows import each_row

from toolcharter import ConfigurationError, Store, StoreUnavailable
from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.registry.bootstrap import read_bootstrap, records_at_discovery, records_at_start, uses_docker
from toolcharter_service.registry.catalog import read_catalog, seed
from toolcharter_service.registry.reload import RegistryReloader
from toolcharter_service.registry.source_tools import DEFAULTS, MINIMUM
from toolcharter_service.service import Service

NO_DOCKER = {"EXECUTION_METHOD": "native"}
ONE = {"id": "one", "exec": {"type": "cmd", "cmd": "echo"}}


def ids(folder: Path, **environ: str) -> set[str]:
    return {one.id for one in records_at_start(folder, environ or NO_DOCKER, NOW)}


def test_the_twelve_without_a_file(tmp_path: Path) -> None:
    """Each says when it was made."""
    records = records_at_start(tmp_path, NO_DOCKER, NOW)

    assert {one.id for one in records} == {one.id for one in DEFAULTS}
    assert {one.created_at for one in records} == {NOW}


def test_the_first_file_counts_and_the_minimum_is_there(tmp_path: Path) -> None:
    """That of the folder before that of `config`."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/tools_bootstrap.json").write_text(json.dumps([{**ONE, "id": "two"}]))
    assert ids(tmp_path) == {"two", *MINIMUM}
    (tmp_path / "tools_bootstrap.json").write_text(json.dumps([ONE, {"id": "tool_ls", "description": "Ours."}]))

    assert ids(tmp_path) == {"one", *MINIMUM}
    found = {one.id: one.description for one in records_at_start(tmp_path, NO_DOCKER, NOW)}
    assert found["tool_ls"] == "Ours."


@each_row(
    ("environ", "socket", "expected"),
    [
        pytest.param({"EXECUTION_METHOD": "docker"}, False, True, id="by name"),
        pytest.param({"EXECUTION_METHOD": "", "DOCKER_HOST": "tcp://x"}, False, True, id="by DOCKER_HOST"),
        pytest.param({}, True, True, id="by the socket"),
        pytest.param({}, False, False, id="nothing says so"),
        pytest.param({"EXECUTION_METHOD": "drone", "DOCKER_HOST": "tcp://x"}, True, False, id="another method"),
    ],
)
def test_where_docker_runs_code(environ: dict[str, str], socket: bool, expected: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a row
    """As HDN decides it."""
    place = tmp_path / "docker.sock"
    place.unlink(missing_ok=True)
    if socket:
        place.touch()

    assert uses_docker(environ, place) is expected
    if environ.get("EXECUTION_METHOD"):
        assert ("tool_docker_exec" in {one.id for one in records_at_discovery(environ, NOW)}) is expected


@each_row(
    ("text", "place", "what"),
    [
        pytest.param("", "1:1", "Expecting value.", id="empty"),
        pytest.param("{}", "1:1", "the file is no JSON array of at most 1000 records.", id="an object"),
        pytest.param('[\n  {"id": "a"},\n  {"id": }\n]', "3:10", "Expecting value.", id="no JSON"),
        pytest.param('[{"id": "a"} {"id": "b"}]', "1:14", "',' or ']' is missing.", id="no comma"),
        pytest.param('[{"id": "a"}] x', "1:15", "there is more text after the value.", id="more"),
        pytest.param('[\n{"id": "a", "id": "b"}]', "2:1", "the key 'id' occurs twice.", id="a key twice"),
        pytest.param(
            '[{"id": "a", "input_schema": {"x": {"minimum": NaN}}}]', "1:2", "NaN is no JSON.", id="no number"
        ),
        pytest.param("[" * 100_000, "1:2", "the value is nested too deep.", id="deep"),
        pytest.param("[5]", "1:2", "id: Field required.", id="no record"),
        pytest.param(
            '[{"id": "a"},\n {"id": "A"}]', "2:2", "'A' occurs twice; upper and lower case are the same.", id="twice"
        ),
    ],
)
def test_a_broken_file(text: str, place: str, what: str, tmp_path: Path) -> None:
    """Stops the start, with its place."""
    file = tmp_path / "tools_bootstrap.json"
    file.write_text(text)

    with pytest.raises(ConfigurationError) as found:
        records_at_start(tmp_path, NO_DOCKER, NOW)

    assert [(fault.place, fault.what) for fault in found.value.faults] == [(f"{file}:{place}", what)]


def test_all_faults_at_once(tmp_path: Path) -> None:
    """Each with the place of its record."""
    file = tmp_path / "b.json"
    file.write_text('[\n {"id": "a", "x": 1},\n {"id": "b"},\n {"id": "c", "created_by": "root"}\n]')

    with pytest.raises(ConfigurationError) as found:
        read_bootstrap(file, NOW)

    assert [fault.place for fault in found.value.faults] == [f"{file}:2:2", f"{file}:4:2"]


@pytest.mark.parametrize("make", ["link", "dangling", "folder", "pipe", "huge", "bytes"])
def test_what_is_no_plain_file(make: str, tmp_path: Path) -> None:
    """Is not read: who can write a link would choose the tools of the system."""
    file = tmp_path / "tools_bootstrap.json"
    if make in {"link", "dangling"}:
        if make == "link":
            (tmp_path / "other.json").write_text(json.dumps([ONE]))
        file.symlink_to(tmp_path / "other.json")
    elif make == "folder":
        file.mkdir()
    elif make == "pipe":
        os.mkfifo(file)
    else:
        file.write_bytes(b" " * 4_000_001 if make == "huge" else b"[\xff]")

    with pytest.raises(ConfigurationError, match=r"link|read|larger|regular|UTF-8"):
        records_at_start(tmp_path, NO_DOCKER, NOW)


def test_seeds_replace_nothing(store: Store) -> None:
    """What an operator has changed stays; what is missing comes back."""
    first = seed(store, DEFAULTS)
    again = seed(store, (DEFAULTS[0].model_copy(update={"description": "Other."}),))

    assert (len(first), again) == (12, ())
    assert read_catalog(store).tools[0].description != "Other."


def made(place: Path, engine: MemoryEngine, folder: Path | None = None) -> tuple[Service, RegistryReloader]:
    service = Service(configured(place), stores=StoreHandle(lambda: engine))
    return service, RegistryReloader(service, folder or place)


def test_the_start(tmp_path: Path, engine: MemoryEngine) -> None:
    """Seeds each tenant; without a store it goes on, and seeds as soon as there is one."""
    engine.failure = StoreUnavailable("It is gone.")
    service, reloader = made(tmp_path, engine)
    reloader.read_bootstrap_file()
    reloader.seed_all()
    engine.failure = None
    assert read_catalog(service.store("acme")).tools == ()

    reloader.reload_changed("acme")

    assert len(read_catalog(service.store("acme")).tools) >= 12


def test_a_file_in_a_workspace(tmp_path: Path, engine: MemoryEngine) -> None:
    """Tools could write it, so that it names the tools of the system at the next start."""
    _, reloader = made(tmp_path, engine, tmp_path / "profile0")
    (tmp_path / "profile0" / "tools_bootstrap.json").write_text("[]")

    with pytest.raises(ConfigurationError, match="is in the workspace of the agent 'reviewer'"):
        reloader.read_bootstrap_file()
