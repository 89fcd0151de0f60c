"""What sample sets 001 and 004 do with records, placeholders, custom tools and outputs, held against the service's registry."""

from pathlib import Path
from typing import Any

import pytest
from tests.plugins.service.registry_sessions import NOW, OPERATOR, OpenSession, engine, session, store, tool
from tests.samples import row_params, sample_rows

from toolcharter import Denied, Store, ToolError
from toolcharter_service.custom.records import CustomTool
from toolcharter_service.custom.template import Template, TemplateFault
from toolcharter_service.http.problems import HttpProblem
from toolcharter_service.registry.bootstrap import records_at_discovery
from toolcharter_service.registry.catalog import delete, register
from toolcharter_service.registry.invoke import to_answer
from toolcharter_service.registry.placeholders import fill_placeholders
from toolcharter_service.registry.records import StoredTool
from toolcharter_service.registry.rules import STATUS, Actor, RegistryRefusal
from toolcharter_service.registry.source_tools import SOURCE_TOOLS

__all__ = ["engine", "session", "store"]

LIFECYCLE = sample_rows("seeds/001-registry-lifecycle")
PLACEHOLDERS = sample_rows("seeds/001-placeholder")
OUTPUTS = sample_rows("seeds/001-output-parsing")
RENDERED = sample_rows("seeds/004-custom-tool-render")
REGISTRY = sample_rows("seeds/004-registry-limiter")
# Rows about what other parts do, each with the test that shows it.
ELSEWHERE = {
    "001-registry-lifecycle-023": "the sink `nats:` makes the events; tests/plugins/nats.",
    "001-registry-lifecycle-045": "the usage sink counts a blocked call once.",
    "001-registry-lifecycle-050": "the usage sink has the averages.",
}
SCRUBBED = frozenset({"001-output-parsing-044"})


def wanted(row: dict[str, Any]) -> dict[str, Any]:
    return {**row["expect"], **row.get("unified", {})}


def having(rows: list[dict[str, Any]], key: str) -> list[Any]:
    return row_params([row for row in rows if key in row["input"]])


@pytest.mark.parametrize("row", having(LIFECYCLE, "delete"))
def test_deletion(row: Any, store: Store) -> None:
    """Of what there is not: 404."""
    with pytest.raises(RegistryRefusal) as found:
        delete(store, row["input"]["delete"], OPERATOR, NOW)

    assert (STATUS[found.value.reason], found.value.reason) == (wanted(row)["status"], wanted(row)["reason"])


@pytest.mark.parametrize("row", having(LIFECYCLE, "invoke"))
def test_invocations(row: Any, session: OpenSession, tmp_path: Path) -> None:
    """The same status and the same words, through the gate; paths of the host are taken for paths of the workspace."""
    given = row["input"]
    live = session(tools={"http_get": {}, "read_file": {}})
    source = SOURCE_TOOLS[given["invoke"]]
    params = {name: value.lstrip("/") if name == "path" else value for name, value in given["params"].items()}
    assert source.installed is not None

    result = live.call(source.installed, source.convert_arguments(params))
    with pytest.raises(HttpProblem) as found:
        to_answer(given["invoke"], params, result)

    assert (found.value.status, found.value.error) == (wanted(row)["status"], wanted(row)["error"])


@pytest.mark.parametrize("row", having(LIFECYCLE, "exec"))
def test_types_have_no_case(row: Any) -> None:
    """A record is read as that source reads it."""
    assert tool(exec=row["input"]["exec"]).exec.type == wanted(row)["treated_as"]


@pytest.mark.parametrize("row", having(LIFECYCLE, "EXECUTION_METHOD"))
def test_discovery(row: Any) -> None:
    """What docker makes possible is found where that source finds it."""
    assert wanted(row)["contains"] in {one.id for one in records_at_discovery(row["input"], NOW)}


@pytest.mark.parametrize("row", having(LIFECYCLE, "filter"))
def test_filter(row: Any, store: Store) -> None:
    """The records that agents have made are told from others."""
    for one in row["input"]["tools"]:
        actor = Actor("x", "bot") if one["created_by"] == "agent" else OPERATOR
        register(store, tool(one["id"], actor, created_by=one["created_by"]), actor, NOW)

    from_agents = [one.record.id for one in store.page(StoredTool, where={"created_by": "agent"}).records]
    assert from_agents == wanted(row)["ids"]


@pytest.mark.parametrize("row", row_params(PLACEHOLDERS))
def test_placeholders(row: Any) -> None:
    """The same argument vector, in one pass; a place without a value is an error."""
    try:
        argv = list(fill_placeholders(row["input"]["args"], row["input"]["params"]))
    except (ToolError, Denied):
        argv = None

    assert argv == (None if "error" in wanted(row) else wanted(row)["argv"])


@pytest.mark.parametrize("row", row_params(OUTPUTS))
def test_outputs(row: Any, store: Store, session: OpenSession) -> None:
    """Of a program that prints this; secrets in it are masked."""
    program = {"type": "cmd", "cmd": "cat"}
    register(store, tool("print", exec=program), OPERATOR, NOW)

    result = session().call("print", {"stdin": row["input"]["output"]})

    # "Scrubbing must also run on parsed values", says the row.
    expected = {"token": "[REDACTED]"} if row["id"] in SCRUBBED else wanted(row)["result"]
    assert to_answer("print", {}, result) == expected


@pytest.mark.parametrize("row", having(RENDERED, "command"))
def test_custom_lines(row: Any) -> None:
    """The same line, or why there is none."""
    given, expect = row["input"], wanted(row)
    try:
        found = Template.parse(given["command"]).render(given["args"])
    except TemplateFault as fault:
        found = fault.reason
    except (ToolError, Denied) as refused:
        found = str(refused.reason)

    assert found == expect.get("error", expect.get("rendered"))


@pytest.mark.parametrize("row", having(RENDERED, "working_dir"))
def test_working_folder(row: Any, store: Store, session: OpenSession, tmp_path: Path) -> None:
    """It is the workspace."""
    store.put(CustomTool(name="here", command="pwd", working_dir=row["input"]["working_dir"]))

    assert wanted(row)["cwd"] == row["input"]["workspace"]
    assert session().call("here", {}).text == f"{tmp_path / 'ws'}\n"


@pytest.mark.parametrize("row", having(RENDERED, "env"))
def test_environment(row: Any, store: Store, session: OpenSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base list, and nothing of the parent's."""
    monkeypatch.setenv("OF_THE_PARENT", "1")
    store.put(CustomTool(name="shown", command="env", env=row["input"]["env"]))

    text = session().call("shown", {}).text

    assert wanted(row)["child_env"] == "base list"
    assert ("OF_THE_PARENT" in text, "PATH=" in text) == (False, True)


@pytest.mark.parametrize("row", having(REGISTRY, "custom_agent"))
def test_names_of_installed_tools(row: Any, store: Store, session: OpenSession) -> None:
    """No custom tool takes the place of one."""
    for name in row["input"]["custom_agent"]:
        store.put(CustomTool(name=name, command="echo mine", scope="bot"))
    live = session(agent="bot", tools={"bash": {}}, mode="dangerous")

    assert wanted(row)["error"] == "name_conflict"
    assert live.call("exec", {"command": "echo ours"}).text == "ours\n"


@pytest.mark.parametrize("row", having(REGISTRY, "enabled"))
def test_disabled_tools(row: Any, store: Store, session: OpenSession) -> None:
    """They are not there."""
    store.put(CustomTool(name="off", command="ls", enabled=row["input"]["enabled"]))

    assert [name for name in session().current if name == "off"] == wanted(row)["registered"]


def test_every_row_of_the_lifecycle_is_run_or_listed() -> None:
    """No row is left out in silence."""
    keys = ("delete", "invoke", "exec", "EXECUTION_METHOD", "filter")
    run = {param.id for key in keys for param in having(LIFECYCLE, key)}

    assert run | ELSEWHERE.keys() == {row["id"] for row in LIFECYCLE}
    assert len({row["id"] for row in RENDERED}) == sum(
        len(having(RENDERED, key)) for key in ("command", "working_dir", "env")
    )
