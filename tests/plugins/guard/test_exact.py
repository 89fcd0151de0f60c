"""Texts that the guard and an agent could read in two ways, and names that one tool could take from another."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter.hosts import open_host
from toolcharter_guard import settings
from toolcharter_guard.agents import AGENTS
from toolcharter_guard.exact import UnreadableArguments, find_urls, pattern_folder, require_exact_path
from toolcharter_guard.judge import judge_message
from toolcharter_guard.patches import parse_patch

PROFILE = """
profile: exact
extends: [guarded]
tools: {http_get: {allowed_domains: [good.example]}, git: {}}
missing_ok: [plan, agent, web_search, skill, background_output, odd_tool]
allow: ["http_get:*", "custom:odd_tool", "git:*"]
ask: ["write_file(path=a.txt)"]
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.txt", "b.txt", ".env"):
        (folder / name).write_text("old\n")
    (tmp_path / "exact.yaml").write_text(PROFILE)
    return folder


def verdict(workspace: Path, agent: str, tool: str, args: Any) -> str:
    """`allow`, or the text of the refusal or question."""
    keys = AGENTS[agent].keys
    message = {keys["tool"]: tool, keys["args"]: args, "cwd": str(workspace)}
    with open_host(workspace.parent / "exact.yaml", workspace=workspace, events=[lambda _: None]) as host:
        said = judge_message(AGENTS[agent], host, workspace, json.dumps(message))
    return "allow" if said in ({}, {"permission": "allow"}) else json.dumps(said)


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


TWO_WAYS_UP = [
    ("claude-code", "Write", {"file_path": "deep/../../new.txt", "content": "x"}),
    ("claude-code", "Write", {"file_path": "{top}/deep/../.claude/settings.json", "content": "x"}),
    ("claude-code", "Read", {"file_path": "gone/../a.txt"}),
    ("claude-code", "Grep", {"pattern": "x", "path": "deep/../.."}),
    ("claude-code", "Glob", {"pattern": "deep/../../**"}),
    ("claude-code", "Glob", {"pattern": "../../**", "path": "deep"}),
    ("claude-code", "LS", {"path": "deep/../.."}),
    ("claude-code", "Bash", {"command": "ls", "cwd": "deep/../.."}),
    ("gemini", "run_shell_command", {"command": "ls", "dir_path": "deep/../.."}),
    ("gemini", "read_many_files", {"paths": ["deep/../a.txt"]}),
    ("codex", "apply_patch", {"command": "*** Begin Patch\n*** Add File: deep/../../x\n+x\n*** End Patch"}),
    ("codex", "apply_patch", {"command": "*** Begin Patch\n*** Add File: ~/x\n+x\n*** End Patch"}),
    ("opencode", "read", {"filePath": "~root/x"}),
]


@pytest.fixture
def crooked(workspace: Path) -> Path:
    (workspace / "sub" / "deeper").mkdir()
    (workspace / "deep").symlink_to("sub/deeper")
    (workspace / "gone").symlink_to("sub/none/none")
    for name in ("~", "~root"):
        (workspace / name).symlink_to("/")
    return workspace


@each_row("agent, tool, args", TWO_WAYS_UP)
def test_a_path_that_leads_two_ways_is_denied(agent: str, tool: str, args: dict[str, Any], crooked: Path) -> None:
    """Some agents cut `link/..` out of a path, others follow the link; some know `~`, to others it is a name."""
    given = json.loads(json.dumps(args).replace("{top}", str(crooked)))
    assert "toolcharter cannot read this call" in verdict(crooked, agent, tool, given)


def test_a_path_that_goes_up_one_way_is_read(workspace: Path) -> None:
    """Without a link behind it `..` is the same to all, and so is a link that leads to the folder beside it."""
    (workspace / "beside").symlink_to("sub")
    for path in ("sub/../a.txt", "beside/../a.txt", f"{workspace}/sub/../a.txt"):
        assert verdict(workspace, "claude-code", "Read", {"file_path": path}) == "allow"


PATHS = [
    " /etc/passwd",
    "\t/etc/passwd",
    "\u00a0/etc/passwd",
    "\ufeff/etc/passwd",
    ".env ",
    "a\u2028b",
    "a\nb",
    "file:/etc/passwd",
    "FILE:///etc/passwd",
    "https://x.example/a",
    "hoo\u212a",
    "",
    "a\0b",
    7,
]


@each_row("text", PATHS)
def test_a_path_that_two_programs_read_differently_is_no_path(text: object) -> None:
    """Claude Code cuts blanks off and changes to NFC; others take a URL of a file for the file."""
    with pytest.raises(UnreadableArguments):
        require_exact_path(text)


def test_a_path_may_have_blanks_and_any_letters() -> None:
    """Within a name they mean the same everywhere."""
    assert require_exact_path("a folder/\u00fcber-\u6587.txt") == "a folder/\u00fcber-\u6587.txt"


PATTERNS: list[tuple[str, str | None]] = [
    ("**/*.py", ""),
    ("src/**/*.{ts,tsx}", "src"),
    ("src/{one,two}/*.py", "src"),
    ("/etc/*", "/etc"),
    ("/*", "/"),
    ("../*", ".."),
    ("*/../../etc/*", None),
    ("{/etc,x}/passwd", None),
    ("{.,x}{.,x}/etc/*", None),
    (".{.,x}/etc/*", None),
    ("{a,../..}/*", None),
    ("*/{..,x}/*", None),
    ("{1..3}/x", None),
    ("[.][.]/x", None),
    ("x*/@(..)/x", None),
    ("\\.\\./x*", None),
]


@each_row("pattern, folder", PATTERNS)
def test_a_pattern_is_judged_by_where_all_of_it_can_lead(pattern: str, folder: str | None) -> None:
    """The part before the first wildcard says where it begins; what could lead out behind that is refused."""
    if folder is not None:
        assert pattern_folder(pattern) == folder
        return
    with pytest.raises(UnreadableArguments):
        pattern_folder(pattern)


PROMPTS: list[tuple[str, list[str] | None]] = [
    ("read http://a.example/x, and\nHTTPS://b.example", ["http://a.example/x,", "HTTPS://b.example"]),
    ("see http://a.example'@b.example/", ["http://a.example'@b.example/"]),
    ("see http://a.example)@b.example/", ["http://a.example)@b.example/"]),
    ("see http://a.example\x1c@b.example/", None),
    ("see (http://a.example)", None),
    ("see 'http://a.example'", None),
    ("http:/b.example http://a.example", None),
    ("nothing", None),
]


@each_row("prompt, urls", PROMPTS)
def test_the_urls_of_a_prompt_are_whole_words(prompt: str, urls: list[str] | None) -> None:
    """Gemini CLI splits at blanks. A URL cut short at a quote would be judged by another host than it is fetched from."""
    if urls is not None:
        assert find_urls(prompt) == urls
        return
    with pytest.raises(UnreadableArguments):
        find_urls(prompt)


def test_a_host_before_a_quote_is_not_the_host(workspace: Path) -> None:
    """What follows it would make it the name of a user."""
    denied = verdict(workspace, "gemini", "web_fetch", {"prompt": "see http://good.example'@evil.example/"})

    assert "credentials_in_url" in denied


PATCHES = [
    ("*** Add File: ok\u2028+/../../../x", "+x"),
    ("*** Add File: ok\f+/../../../x", "+x"),
    ("*** Add File: ok\r+/../../../x", "+x"),
    ("*** Add File: \ufeff/etc/x", "+x"),
    ("*** Add File:  x", "+x"),
    ("*** Update File: b.txt", "*** Move to: .claude/settings.json", "*** Move to: c.txt", "@@", "-old", "+new"),
    ("*** Update File: b.txt", "@@", "*** Move to: c.txt"),
]


@each_row("lines", PATCHES)
def test_a_patch_that_two_programs_read_differently_is_denied(lines: tuple[str, ...], workspace: Path) -> None:
    """Only a line feed ends a line, only the line behind the head moves the file, and names are taken as they are."""
    for agent, key in (("codex", "command"), ("opencode", "patchText")):
        assert "cannot read this call" in verdict(workspace, agent, "apply_patch", {key: patch(*lines)})


def test_a_patch_with_the_line_ends_of_windows_is_read() -> None:
    """Both agents drop the carriage return."""
    text = patch("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-old", "+new").replace("\n", "\r\n")

    assert [change[1:] for change in parse_patch(text)] == [("a.txt", "new\n", "b.txt")]


@pytest.mark.parametrize("shape", ["text", "list"])
def test_codex_applies_no_patch_out_of_a_shell_line(workspace: Path, shape: str) -> None:
    """It would, without starting a program, and the line does not say to which files in a form that rules know."""
    text = patch("*** Add File: x", "+x")
    command: Any = f"apply_patch <<'EOF'\n{text}\nEOF" if shape == "text" else ["apply_patch", text]

    assert "use the tool apply_patch" in verdict(workspace, "codex", "Bash", {"command": command})


NAMES = [
    ("gemini", "plan"),
    ("gemini", "bash"),
    ("gemini", "grep"),
    ("opencode", "background_output"),
    ("claude-code", "read_file"),
    ("claude-code", "git"),
    ("claude-code", "Git"),
    ("claude-code", "READ_FILE"),
    ("gemini", "Plan"),
]


@each_row("agent, name", NAMES)
def test_a_strange_tool_does_not_pass_by_the_name_of_a_known_one(agent: str, name: str, workspace: Path) -> None:
    """Some agents let a server of MCP choose the name; rules on our tools, and on planning, are not about that one."""
    assert "know another tool by this name" in verdict(workspace, agent, name, {"command": "status", "path": "a.txt"})


def test_a_strange_tool_passes_by_its_own_name(workspace: Path) -> None:
    """The profile names it."""
    assert verdict(workspace, "gemini", "odd_tool", {}) == "allow"


def test_many_files_are_read_one_by_one(workspace: Path) -> None:
    """A hidden file does not pass as one of many, nor as what a pattern finds."""
    assert "protected_path" in verdict(workspace, "gemini", "read_many_files", {"include": ["a.txt", ".env"]})
    assert "name each file" in verdict(workspace, "gemini", "read_many_files", {"include": [".en*"]})
    assert verdict(workspace, "gemini", "read_many_files", {"paths": ["a.txt", "b.txt"]}) == "allow"


def test_a_call_of_nothing_is_denied(workspace: Path) -> None:
    """What amounts to no call of ours has been judged by nothing."""
    assert "asks for nothing" in verdict(workspace, "claude-code", "MultiEdit", {"file_path": "b.txt", "edits": []})


def test_a_person_is_not_asked_about_a_call_of_which_a_part_is_denied(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The yes would be about the first part, and the agent would do all of it."""
    table = {**AGENTS["claude-code"].table, "apply_patch": AGENTS["codex"].table["apply_patch"]}
    monkeypatch.setitem(AGENTS, "claude-code", AGENTS["claude-code"]._replace(table=table))
    both = patch("*** Update File: a.txt", "@@", "+new", "*** Delete File: .env")
    one = patch("*** Update File: a.txt", "@@", "+new")

    assert '"deny"' in verdict(workspace, "claude-code", "apply_patch", {"command": both})
    assert '"ask"' in verdict(workspace, "claude-code", "apply_patch", {"command": one})


@pytest.mark.parametrize(
    ("agent", "variable", "file"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/plugin/toolcharter-guard.js"),
    ],
)
def test_settings_are_where_the_environment_puts_them(
    agent: str, variable: str, file: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the agent reads them: an entry elsewhere guards nothing, and no tool changes this one."""
    monkeypatch.setenv(variable, str(workspace / "moved"))
    found = settings.settings_path(agent, None)
    believed = settings.guard_files(workspace)
    monkeypatch.setenv(variable, "moved")

    assert found == workspace / "moved" / file
    assert found in believed
    assert settings.settings_path(agent, None) == Path.home() / settings.LOCATIONS[agent].user


@each_row(
    "name", [".opencode/tool/x.js", ".opencode/opencode.json", ".gemini/extensions/x/hooks.json", ".claude/plugins/x"]
)
def test_no_tool_changes_what_runs_in_an_agent(name: str, workspace: Path) -> None:
    """Extensions and plugins carry hooks and programs of their own."""
    profile = workspace.parent / "plain.yaml"
    profile.write_text("profile: plain\nrunner: host\ntools: {write_file: {}}\n")
    believed = settings.guard_files(workspace)
    with open_host(profile, workspace=workspace, events=[lambda _: None], believed=believed) as host:
        assert host.call("write_file", {"path": name, "content": "x"}).result.reason == "protected_path"
