"""Tools that a profile declares: their words, their arguments, and what is wrong with them."""

from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import ConfigurationError
from toolcharter_cli_tools.policy import CliToolsPolicy
from toolcharter_cli_tools.readme import clean_text, summarize


def test_script_beside_the_profile(place: Any) -> None:
    """A path is relative to the profile's folder, and the script runs wherever that lies."""
    place.write(place.agent / "scripts/search.sh", '#!/bin/sh\nprintf "%s" "$*"\n')
    place.write(place.agent / "scripts/README.md", "# Search\n\nSearches.\n", 0o644)
    tools = {"search": {"command": "./scripts/search.sh", "readme": "scripts/README.md", "args": ["-n", "{what}"]}}
    live = place.open(tools=tools)

    assert live.call("search", {"what": "a b"}).text == "-n a b"
    assert live.call("search", {"help": True}).text == "# Search\n\nSearches."
    assert live.call("search", {}).reason == "invalid_arguments"


@pytest.mark.parametrize(
    ("args", "given", "text"),
    [
        pytest.param(["{a}-{a}"], {"a": "x"}, "[x-x]", id="twice"),
        pytest.param(["{a}", "{b}"], {"a": "{b}", "b": "y"}, "[{b}][y]", id="one-pass"),
        pytest.param(["{n}", "{f}", "{l}"], {"n": 1.5, "f": True, "l": ["a", 1]}, '[1.5][true][["a",1]]', id="json"),
        pytest.param(["x", "{o}", "--o={o}"], {}, "[x][--o=]", id="absent"),
        pytest.param(["x", "{o}"], {"o": " "}, "[x]", id="filler"),
        pytest.param(["{a}", ""], {"a": ""}, "[][]", id="empty"),
        pytest.param(["--a={a}", "{d}"], {"a": "-x", "d": "-y"}, "[--a=-x][-y]", id="dashes"),
        pytest.param(["{w}"], {}, "[z]", id="default"),
    ],
)
def test_words(place: Any, args: list[str], given: dict[str, Any], text: str) -> None:
    """A value stays in its word, and is not read again."""
    parameters = {
        "a": "string",
        "b": "str",
        "n": {"type": "float", "description": "A number."},
        "f": "bool",
        "l": "list",
        "o": {"required": False},
        "d": {"allow_dash": True},
        "w": {"default": "z", "enum": ["z", "y"]},
    }
    named = {name: one for name, one in parameters.items() if any(f"{{{name}}}" in word for word in args)}
    place.write(place.agent / "p.sh", '#!/bin/sh\nfor w; do printf "[%s]" "$w"; done\n')
    live = place.open(tools={"t": {"command": "./p.sh", "args": args, "parameters": named}})

    assert live.call("t", given).text == text


def test_input_by_an_argument(place: Any) -> None:
    """An argument may be what the program reads."""
    tools = {"t": {"command": "cat", "args": [], "stdin": "text"}, "u": {"command": "cat"}}
    live = place.open(tools=tools)

    assert (live.call("t", {"text": "one"}).text, live.call("u", {"stdin": "two"}).text) == ("one", "two")


def test_own_argument_of_the_name_help(place: Any) -> None:
    """A declared argument is what its profile says."""
    place.write(place.agent / "README.md", "Read me.", 0o644)
    live = place.open(tools={"t": {"command": "echo", "args": ["{help}"], "readme": "README.md"}})

    assert live.call("t", {"help": "x"}).text == "x\n"


def test_missing_program(place: Any) -> None:
    """A program that is not there is an error of the call."""
    assert place.open(tools={"t": {"command": "no-such-program"}}).call("t", {}).reason == "program_not_found"


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        pytest.param({"command": "./none.sh"}, "none.sh' cannot be read: No such file", id="missing"),
        pytest.param({"command": "./plain"}, "plain' cannot be executed", id="not-executable"),
        pytest.param({"command": "./large"}, "large' cannot be read: the tool is larger than", id="large"),
        pytest.param({"command": "x", "readme": "none.md"}, "none.md' cannot be read", id="readme"),
        pytest.param(
            {"command": "x", "args": ["{y}"], "parameters": {"z": "str"}},
            "parameters has no argument 'y'",
            id="unknown",
        ),
        pytest.param(
            {"command": "x", "args": [], "parameters": {"a-b": "str"}}, "not a valid name of an argument", id="name"
        ),
        pytest.param({"command": "x", "parameters": {"a": "str"}}, "parameters are for the words", id="no-words"),
        pytest.param({"command": "x", "args": ["{y}"], "parameters": {"y": 5}}, "y", id="no-parameter"),
        pytest.param({"command": "x", "capabilities": ["Bad!"]}, "does not look like", id="capability"),
        pytest.param({"command": ""}, "command", id="empty"),
    ],
)
def test_faults(place: Any, tool: dict[str, Any], said: str) -> None:
    """What is wrong with a declared tool stops the start, with its place in the profile."""
    place.write(place.agent / "plain", mode=0o644)
    place.write(place.agent / "large", "x" * 200)

    with pytest.raises(ConfigurationError) as caught:
        place.open(tools={"t": tool}, max_bytes=100)

    assert said in str(caught.value)
    assert "p.yaml:1:" in str(caught.value)


def test_declared_name_of_a_plugin(place: Any) -> None:
    """The profile's own tools take no plugin's name either."""
    with pytest.raises(ConfigurationError, match="the name 'Reload_Tools' is the tool 'reload_tools' of a plugin"):
        place.open(tools={"Reload_Tools": {"command": "echo"}})


def test_profile_that_is_no_file(place: Any) -> None:
    """Without a folder of the profile a path has to be absolute."""
    place.agent = None
    with pytest.raises(ConfigurationError, match="is relative, but the profile is not a file"):
        place.find(tools={"t": {"command": "./x"}}, agent_folders=[])


@pytest.mark.parametrize("folder", ["/tools", "../tools"])
def test_workspace_folders_lie_in_the_workspace(folder: str) -> None:
    """The profile cannot name others by that key."""
    with pytest.raises(ValueError, match="does not lie below the workspace"):
        CliToolsPolicy(workspace_folders=(folder,))  # type: ignore[arg-type]


@each_row(
    ("readme", "said"),
    [
        pytest.param("# My Tool\n\nDoes cool things.\n", "My Tool: Does cool things.", id="both"),
        pytest.param("Does things.\nAnd more.\n\nNot this.", "Does things. And more.", id="no-heading"),
        pytest.param("# Only:\n\n## Parts", "Only", id="no-text"),
        pytest.param("# T\ntext\n## Next", "T: text", id="heading-behind"),
        pytest.param("x" * 400, "x" * 297 + "...", id="long"),
        pytest.param("", "", id="empty"),
    ],
)
def test_summary(readme: str, said: str) -> None:
    """A heading and the first paragraph, in one line."""
    assert summarize(readme) == said


def test_readme_is_cleaned() -> None:
    """What does not show is taken out, and what is too long cut."""
    assert clean_text("\ufeffa\u202eb\x1b[0m\r\nc".encode(), 100) == "ab[0m\nc"
    assert clean_text(b"abc def", 4) == "abc\n[README truncated]"
