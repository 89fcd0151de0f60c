"""What sample sets 000, 001, 002 and 004 do with tools of folders, skills and templates, held against `cli_tools`."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter import Denied, LiveToolbox, ProfileView, ToolError, open_live
from toolcharter_cli_tools.bundles import UnusableTool
from toolcharter_cli_tools.definitions import Definition, build_schema
from toolcharter_cli_tools.discovery import discover
from toolcharter_cli_tools.policy import CliToolsPolicy, Parameter
from toolcharter_cli_tools.templates import (
    fill_words,
    is_filler,
    parse_line,
    parse_words,
    placeholder_names,
    require_values,
)

# Rows that the design decides otherwise or leaves out, each with the sentence that does.
SUPERSEDED = {
    "000-invocation-results-009": "design, section 7: `unknown_tool`, a denial.",
    "000-invocation-results-015": "design, section 5, 8: truncate at a character border, with a notice; limits are in characters.",
    "000-invocation-results-046": "as above; `test_truncation.py` holds the borders.",
    "000-invocation-results-047": "as above.",
    "000-invocation-results-059": "issue 4, section 3: README on demand through a help call.",
    "002-skill-tools-036": "inventory, section 7, 20: never with a placeholder inside quotes.",
    "002-skill-tools-060": "issue 4 lists no patches among the tools.",
    "002-skill-tools-063": "as above.",
}
LATER = {
    "000-invocation-results-031": "design, section 7: a number outside is malformed, which is an error (`plugins/web`).",
    "000-invocation-results-040": "`plugins/web/test_search.py` and `test_fetch.py`: `invalid_url`.",
    "000-invocation-results-043": "50 KB are 50,000 bytes here (`plugins/web/test_fetch.py`).",
    **dict.fromkeys(
        (f"000-invocation-results-{number:03}" for number in (49, 50, 55)),
        "`plugins/agents/test_sessions.py` has them.",
    ),
}
FILES = (
    *("000-discovery", "000-invocation-results", "001-placeholder"),
    *("002-skill-tools", "004-custom-tool-render"),
)
ROWS = {name: sample_rows(f"seeds/{name}") for name in FILES}


def params(name: str, *keys: str) -> list[Any]:
    """The rows of one file whose input has all of *keys*, without those that are listed above."""
    return row_params(
        [row for row in ROWS[name] if {*keys} <= {*row["input"]} and row["id"] not in {*SUPERSEDED, *LATER}]
    )


def wanted(row: dict[str, Any]) -> dict[str, Any]:
    return {**row["expect"], **row.get("unified", {})}


@pytest.fixture
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """Opens a session with a profile's settings of `cli_tools`; programs run on the host."""

    def open_session(**settings: Any) -> LiveToolbox:
        profile = tmp_path / "p.yaml"
        text = {
            "profile": "p",
            "runner": "host",
            "allow": ["cli:*"],
            "tools": {"reload_tools": {}},
            "extensions": {"cli_tools": settings},
        }
        profile.write_text(json.dumps(text))
        (tmp_path / "ws").mkdir()
        live = open_live(profile, workspace=tmp_path / "ws", events=lambda _: None)
        request.addfinalizer(live.close)
        return live

    return open_session


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o644 if text.startswith("(mode 0644)") or name.endswith(".md") else 0o755)


@pytest.mark.parametrize("row", params("000-discovery", "dirs"))
def test_folders(row: Any, tmp_path: Path) -> None:
    """The same tools, by the same names and descriptions; what is skipped is told."""
    for number, files in enumerate(row["input"]["dirs"]):
        written(tmp_path / str(number), files)
    folders = tuple(map(Path, map(str, range(len(row["input"]["dirs"])))))
    view = ProfileView("p", tmp_path, CliToolsPolicy(extend=True, agent_folders=folders), ())

    found = discover(view, None)

    expect = wanted(row)
    if "skipped" in expect:
        assert (found.found, expect["skipped"] in found.notes[0]) == ((), True)
        return
    assert [spec.name for spec in found.found] == expect["tools"]
    said = found.found[0].description or ""
    assert expect.get("description_contains", "") in said
    assert said == expect.get("description", said)


@pytest.mark.parametrize("row", params("000-discovery", "definition"))
def test_reload_takes_no_arguments(row: Any, session: Any) -> None:
    """Its schema has no properties."""
    tool = session(extend=True).current[row["input"]["definition"]]

    assert (tool.name, tool.parameters["properties"]) == (wanted(row)["name"], wanted(row)["properties"])


@pytest.mark.parametrize("row", params("000-discovery", "reload"))
def test_tools_of_plugins_survive(row: Any, session: Any, tmp_path: Path) -> None:
    """All tools of plugins are the same ones after a reload, whatever they are called."""
    live = session(extend=True, agent_folders=["tools"])
    before = {name: live.current.built[name] for name in live.current.built}
    written(tmp_path / "tools", {"new/run": "#!/bin/sh\n"})

    assert live.reload().new == ("new",)

    assert {name: live.current.built[name] for name in before} == before
    assert "reload_tools" in wanted(row)["preserved"]


@pytest.mark.parametrize("row", params("000-invocation-results", "tool"))
def test_names_have_no_case(row: Any) -> None:
    """A rule sees the tool's own name; `test_pattern_match.py` has the rest."""
    assert wanted(row)["invocation"] == "web:fetch"


@pytest.mark.parametrize("row", params("000-invocation-results", "stdout"))
def test_streams(row: Any, session: Any, tmp_path: Path) -> None:
    """Both streams, divided as there."""
    given = row["input"]
    script = f"#!/bin/sh\nprintf %s {shlex.quote(given['stdout'])}\nprintf %s {shlex.quote(given['stderr'])} >&2\n"
    written(tmp_path / "tools", {"t/run": f"{script}exit {given['exit_code']}\n"})

    result = session(extend=True, agent_folders=["tools"]).call("t", {})

    assert (result.outcome == "ok", result.text) == (wanted(row)["success"], wanted(row)["content"])


@pytest.mark.parametrize("row", params("001-placeholder", "args", "params"))
def test_placeholders(row: Any) -> None:
    """The same argument vector, in one pass; a place without a value is an error."""
    given, expect = row["input"], wanted(row)
    words = parse_words(given["args"])

    try:
        require_values(list(placeholder_names(words)), given["params"])
        argv = fill_words(words, given["params"], ())
    except (ToolError, Denied):
        argv = None

    assert argv == (None if "error" in expect else expect["argv"])


@each_row("row", params("002-skill-tools", "value"))
def test_values(row: Any) -> None:
    """A value is one word of the vector, as it is where that source quotes it; filler is told from values."""
    value, expect = row["input"]["value"], wanted(row)
    if "effectively_empty" in expect:
        assert is_filler(value) is expect["effectively_empty"]
        return

    argv = fill_words(parse_line("x {{v}}"), {"v": value}, ("v",))

    assert argv == ["x", value] == ["x", *shlex.split(expect["escaped"])]


@pytest.mark.parametrize("row", params("002-skill-tools", "description"))
def test_descriptions(row: Any) -> None:
    """An argument without a description has none in its schema."""
    parameter = Parameter(description=row["input"]["description"])
    schema = build_schema(Definition("t", "d", (), {"q": parameter}))

    assert ("description" in schema["properties"]["q"]) is wanted(row)["schema_has_notes"]


def rendered(line: str, parameters: dict[str, Any], args: dict[str, Any]) -> list[str] | str:
    """The vector of a shell template, or why there is none."""
    try:
        words = parse_line(line)
        require_values([name for name, one in parameters.items() if one.get("required")], args)
        defaults = {name: one.get("default") for name, one in parameters.items()}
        return fill_words(words, {**defaults, **args}, tuple(parameters))
    except UnusableTool as error:
        return error.reason
    except ToolError as error:
        return error.message


@each_row("row", params("002-skill-tools", "cmd"))
def test_skill_lines(row: Any) -> None:
    """The words that a shell would have seen, in one pass; what it would have read as code is refused or data."""
    given, expect = row["input"], wanted(row)

    found = rendered(given["cmd"], given["params"], given["args"])

    if expect.get("decision") == "deny":
        assert isinstance(found, str)
        assert found == expect.get("reason", found)
    else:
        assert found == (shlex.split(expect["rendered"]) if "rendered" in expect else expect["error"])


@pytest.mark.parametrize("row", params("004-custom-tool-render", "command"))
def test_custom_lines(row: Any) -> None:
    """The same for the placeholders of sample set 004."""
    given, expect = row["input"], wanted(row)

    found = rendered(given["command"], {name: {} for name in given["args"]}, given["args"])

    assert found == (expect["error"] if "error" in expect else shlex.split(expect["rendered"]))


@pytest.mark.parametrize("row", params("004-custom-tool-render", "working_dir"))
def test_working_folder(row: Any, session: Any, tmp_path: Path) -> None:
    """It is the workspace."""
    result = session(tools={"here": {"command": "pwd", "args": []}}).call("here", {})

    assert wanted(row)["cwd"] == row["input"]["workspace"]
    assert result.text == f"{tmp_path / 'ws'}\n"


@pytest.mark.parametrize("row", params("004-custom-tool-render", "env"))
def test_environment(row: Any, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the parent's environment is inherited."""
    monkeypatch.setenv("OF_THE_PARENT", "1")
    result = session(tools={"shown": {"command": "env", "args": []}}).call("shown", {})

    assert wanted(row)["child_env"] == "base list"
    assert ("OF_THE_PARENT" in result.text, "PATH=" in result.text) == (False, True)


def test_every_row_is_run_or_listed() -> None:
    """No row is left out in silence, and the lists name real rows only."""
    kinds = [
        *(("000-discovery", key) for key in ("dirs", "definition", "reload")),
        *(("000-invocation-results", key) for key in ("tool", "stdout")),
        ("001-placeholder", "args"),
        *(("002-skill-tools", key) for key in ("value", "description", "cmd")),
        *(("004-custom-tool-render", key) for key in ("command", "working_dir", "env")),
    ]
    run = {param.id for name, key in kinds for param in params(name, key)}

    assert run | SUPERSEDED.keys() | LATER.keys() == {row["id"] for rows in ROWS.values() for row in rows}
