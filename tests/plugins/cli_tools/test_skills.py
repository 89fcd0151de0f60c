"""Skills: their manifests, and shell lines that no shell reads."""

from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import ToolError
from toolcharter_cli_tools.bundles import UnusableTool
from toolcharter_cli_tools.templates import (
    fill_words,
    format_value,
    is_filler,
    parse_line,
    placeholder_names,
    require_values,
)

MANIFEST = """\
name: say
description: Say it.
cmd: $SKILL_DIR/say.sh {{what}} '{"a b"}' "c d" e\\ f
args:
  what: {type: string, required: true}
timeout_ms: 5000
"""


def skill(place: Any, name: str, text: str, file: str = "skill.yaml") -> None:
    place.write(place.workspace / "skills" / name / file, text, 0o644)


def open_skills(place: Any, **settings: Any) -> Any:
    return place.open(workspace_skills=["skills"], **settings)


def notes(place: Any) -> list[str]:
    found = place.find(workspace_skills=["skills"])
    assert found.found == ()
    return [note.partition("(")[2].partition(")")[0] for note in found.notes]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        pytest.param("skill.yaml", MANIFEST, id="yaml"),
        pytest.param("skill.yml", f"tools:\n- {MANIFEST.replace(chr(10), chr(10) + '  ').rstrip()}\n", id="list"),
        pytest.param("SKILL.md", f"---\n{MANIFEST}---\n# Say\n\nMore.\n", id="front-matter"),
    ],
)
def test_manifests(place: Any, file: str, text: str) -> None:
    """A manifest in each of its forms makes the same tool."""
    skill(place, "s", text, file)
    place.write(place.workspace / "skills/s/say.sh", '#!/bin/sh\nfor w; do printf "[%s]" "$w"; done\n')
    live = open_skills(place)

    assert live.call("say", {"what": "x; y"}).text == '[x; y][{"a b"}][c d][e f]'
    assert live.call("say", {}).reason == "invalid_arguments"
    assert (live.current["say"].description or "").startswith("Say it.")


def test_json_and_defaults(place: Any) -> None:
    """JSON is YAML; a tool is named as its folder, and what is absent has its default."""
    skill(
        place,
        "greet",
        '{"cmd": "echo {{who}} {{.more}}", "args": {"who": {"default": "you"}, "more": "string"}}',
        "skill.json",
    )
    live = open_skills(place)

    assert (live.call("greet", {}).text, live.call("greet", {"who": "me", "more": ""}).text) == ("you\n", "me\n")
    assert live.current["greet"].description == "CLI tool: greet"


def test_changed_manifest_is_refused(place: Any) -> None:
    """A manifest is code, too."""
    skill(place, "s", "cmd: echo one")
    live = open_skills(place)
    assert live.call("s", {}).text == "one\n"

    skill(place, "s", "cmd: echo two")

    assert live.call("s", {}).reason == "precondition_failed"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("cmd: [", "bad_manifest", id="syntax"),
        pytest.param("- 1", "bad_manifest", id="list"),
        pytest.param("tools: 5", "bad_manifest", id="tools"),
        pytest.param("tools: [5]", "bad_manifest", id="tool"),
        pytest.param("a: &x 1\nb: *x", "bad_manifest", id="alias"),
        pytest.param("cmd: 5", "bad_manifest", id="cmd"),
        pytest.param("cmd: ''", "bad_manifest", id="empty"),
        pytest.param("cmd: '\"\"'", "bad_manifest", id="empty-word"),
        pytest.param("cmd: x\ntimeout_ms: 0", "bad_manifest", id="timeout"),
        pytest.param("cmd: x\ntimeout_ms: .nan", "bad_manifest", id="nan"),
        pytest.param("cmd: x\ntimeout_ms: .inf", "bad_manifest", id="infinite"),
        pytest.param("cmd: x\nargs: {a: {type: number, default: .nan}}", "bad_manifest", id="default-nan"),
        pytest.param("cmd: x\ntimeout_ms: true", "bad_manifest", id="no-number"),
        pytest.param("cmd: x\nargs: 5", "bad_manifest", id="args"),
        pytest.param("cmd: x\nargs: {a-b: {}}", "bad_manifest", id="name"),
        pytest.param("cmd: x\nargs: {a: {type: no}}", "bad_manifest", id="type"),
        pytest.param("cmd: x\nargs: {a: {other: no}}", "bad_manifest", id="key"),
        pytest.param("cmd: x {{y}}", "unknown_placeholder", id="unknown"),
        pytest.param("cmd: '{{y}} z'\nargs: {y: string}", "program_is_placeholder", id="program"),
        pytest.param("cmd: bin/x", "program_is_relative", id="relative"),
        pytest.param("cmd: a | b", "shell_syntax", id="pipe"),
        pytest.param("cmd: a {{y}} '{{y}}'\nargs: {y: string}", "placeholder_in_quotes", id="quotes"),
        pytest.param("name: 'a b'\ncmd: x", "bad_name", id="bad-name"),
        pytest.param("x: " + "y" * 70_000, "bad_manifest", id="long"),
    ],
)
def test_what_cannot_be_a_skill(place: Any, text: str, word: str) -> None:
    """It is left out, and told."""
    skill(place, "s", text)

    assert notes(place) == [word]


@pytest.mark.parametrize(
    ("file", "text", "word"),
    [
        pytest.param("other.yaml", "cmd: x", "no_manifest", id="none"),
        pytest.param("SKILL.md", "# No block\n", "bad_manifest", id="no-block"),
        pytest.param("SKILL.md", "---\ncmd: x\n", "bad_manifest", id="open-block"),
    ],
)
def test_folders_without_a_manifest(place: Any, file: str, text: str, word: str) -> None:
    """The same for what has none, or only the beginning of one."""
    skill(place, "s", text, file)

    assert notes(place) == [word]


def test_skill_that_offers_nothing(place: Any) -> None:
    """A skill may be text alone; and a folder with a link is none."""
    skill(place, "s", "---\nname: s\n---\ntext\n", "SKILL.md")
    (place.workspace / "skills" / "link").symlink_to("s")

    assert notes(place) == ["link_leads_outside"]


@each_row(
    ("line", "argv"),
    [
        pytest.param("grep {{q}} f", ["grep", "V", "f"], id="place"),
        pytest.param("grep --x={{ q }}y", ["grep", "--x=Vy"], id="in-a-word"),
        pytest.param("  a\t b  ", ["a", "b"], id="spaces"),
        pytest.param("a '' \"\" x''y", ["a", "", "", "xy"], id="empty"),
        pytest.param("a ${SKILL_DIR}/x $SKILL_DIR", ["a", "D/x", "D"], id="folder"),
        pytest.param("a '$x `y`' b\\$c", ["a", "$x `y`", "b$c"], id="quoted"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_lines(line: str, argv: list[str]) -> None:
    """The words are those of a shell, where it would not do anything else."""
    assert fill_words(parse_line(line), {"q": "V", "SKILL_DIR": "D"}, ("q", "SKILL_DIR")) == argv


@each_row(
    "line",
    [
        *(
            "a | b",
            "a; b",
            "a && b",
            "a > f",
            "a < f",
            "a $(b)",
            "a `b`",
            "a $x",
            'a "$x"',
            "a *",
            "a ?",
            "a [b]",
            "~/a",
        ),
        *("a #b", "a\nb", "a 'b", 'a "b', "a \\", "a {b,c}", "a !b", 'a "!b"', "a (b)", "$SKILL_DIRX", "a {{b", "ä"),
    ],
)
def test_what_only_a_shell_understands(line: str) -> None:
    """It would mean something else without one, so that it is refused."""
    with pytest.raises(UnusableTool) as caught:
        parse_line(line)

    assert caught.value.reason == "shell_syntax"


@pytest.mark.parametrize("line", ["a '{{q}}'", 'a "{{q}}"', "a 'x {{ .q }} y'", 'a "{{.q}}"'])
def test_placeholders_in_quotes(line: str) -> None:
    """Quotes around a place would be text in its value."""
    with pytest.raises(UnusableTool) as caught:
        parse_line(line)

    assert caught.value.reason == "placeholder_in_quotes"


def test_long_lines_in_linear_time() -> None:
    """A hostile line costs what its length is."""
    words = parse_line("a " * 100_000 + "{{q}}" * 50_000)

    assert (len(words), list(placeholder_names(words))) == (100_001, ["q"])


@each_row("value", [None, "", " \n", [], [{}], [[""], None], {}])
def test_filler(value: object) -> None:
    """What models write where they mean nothing."""
    assert is_filler(value)


@each_row("value", ["x", 0, False, [0], {"a": ""}])
def test_no_filler(value: object) -> None:
    """What is a value."""
    assert not is_filler(value)


def test_text_of_values() -> None:
    """Text is raw, the rest JSON, the same each time."""
    values: list[Any] = ["a\n", None, True, 5, 1.0, {"b": 1, "a": "ä"}]

    assert list(map(format_value, values)) == ["a\n", "", "true", "5", "1.0", '{"a":"ä","b":1}']


def test_missing_argument() -> None:
    """It is named."""
    with pytest.raises(ToolError, match=r"^missing required argument: q$"):
        require_values(["q"], {"q": None})


def test_folder_of_skills_that_is_not_there(place: Any) -> None:
    """Nothing is said of a folder that may come later."""
    assert place.find(workspace_skills=["none"], agent_skills=["none"]).notes == ()
