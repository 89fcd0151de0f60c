"""`toolcharter import`: what each format becomes, what is told of the rest, and that nothing becomes wider."""

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter import Caller, ConfigurationError, Toolbox, build_tools
from toolcharter.cli.group import toolcharter
from toolcharter.gate.build import open as build_open
from toolcharter.gate.build.plan import Plan
from toolcharter.loader import interpreter, scan
from toolcharter.profile import read
from toolcharter_importer import patterns
from toolcharter_importer.draft import Installed, find_installed
from toolcharter_importer.formats import FORMATS, detect_format, import_file
from toolcharter_importer.source import Source
from toolcharter_importer.writing import profile_text
from toolcharter_mcp_bridge.bridge import Bridge

DATA = Path("tests/data/import").absolute()
GOLDEN = DATA / "golden"
THERE = Installed(
    frozenset(
        [
            "agents_list",
            "background_process",
            "bash",
            "browser",
            "capture_screenshot",
            "cron",
            "delegate_to_agent",
            "docker_list",
            "edit_file",
            "finalize_task",
            "git",
            "glob",
            "grep",
            "html_scraper",
            "http_get",
            "list_files",
            "memory",
            "memory_get",
            "memory_search",
            "message",
            "read_file",
            "reload_tools",
            "schedule",
            "session",
            "session_status",
            "sessions_history",
            "sessions_list",
            "sessions_send",
            "sessions_spawn",
            "skill_search",
            "spawn",
            "subagents",
            "web",
            "write_file",
        ]
    ),
    frozenset({"cli_tools", "mcp_bridge", "skills", "webhook"}),
)
ALL_THERE = find_installed()
Opened = Callable[[Path, str], Toolbox]
SOURCES = {
    "duragent-policy": DATA / ".duragent" / "policy.yaml",
    "duragent-agent": DATA / "agents" / "kim" / "agent.yaml",
    "hdn-tools": DATA / "tools_bootstrap.json",
    "linggen-agent": DATA / "coder.md",
    "llm-agent": DATA / "git_analysis.yml",
    "goclaw": DATA / "config.json",
    "goclaw-tools": DATA / "custom_tools.json",
}


def _agent(hook: str) -> str:
    """An agent of Duragent with bash and one guard."""
    tools = "[{type: builtin, name: bash}]"
    head = "apiVersion: duragent/v1alpha1\nkind: Agent\nmetadata: {name: a}\n"
    return f"{head}spec:\n  tools: {tools}\n  hooks: {{before_tool: [{hook}]}}\n"


SMALL = "profile: p\nmode: ask\ntools: {bash: {}, web: {}, schedule: {}, background_process: {}}\n"
QUIET = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Toolboxes of profiles that have the tools of the first one: what is installed is looked at once."""
    folder = tmp_path_factory.mktemp("workspace")
    plans: dict[str, Plan] = {}
    code = interpreter.find_gate_code(folder, scan.find_installed())

    def of(file: Path, kind: str) -> Toolbox:
        if kind not in plans:
            plans[kind] = build_open.plan_profile(str(file), workspace=folder, index=scan.find_installed())
        plan = replace(plans[kind], profile=read.load_profile(str(file), search=[]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(build_open, "find_gate_code", lambda *_: code)
            return build_open.open_toolbox(plan, workspace=folder, caller=None, sinks=())

    return of


def run(*words: str) -> Any:
    return CliRunner().invoke(toolcharter, ["import", *words])


@pytest.mark.parametrize("kind", FORMATS)
def test_format_is_known_and_becomes_this_profile(kind: str) -> None:
    """Letter by letter; `TOOLCHARTER_GOLDEN=1` writes them anew."""
    assert detect_format(SOURCES[kind]) == kind
    text = profile_text(import_file(SOURCES[kind], kind, THERE, None)).replace(str(DATA), "@DATA@")
    golden = GOLDEN / f"{kind}.yaml"
    if os.environ.get("TOOLCHARTER_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_imported_profiles_pass_the_check(tmp_path: Path) -> None:
    """With what is installed here; exit status 1 says that something was left out."""
    result = run(*map(str, SOURCES.values()), "--output", str(tmp_path))
    assert (result.exit_code, result.stdout) == (1, "")
    files = sorted(str(file) for file in tmp_path.glob("*.yaml"))
    assert len(files) == len(SOURCES)
    assert CliRunner().invoke(toolcharter, ["profiles", "--check", *files]).exit_code == 0


def test_every_key_is_carried_or_told() -> None:
    """A key that nobody knows, wherever it stands, is named with its place, and its value is not."""
    for kind, file in SOURCES.items():
        notes = import_file(file, kind, THERE, None).notes
        assert all(re.fullmatch(r".+:\d+:\d+", note.place) and note.why.endswith(".") for note in notes)
    notes = import_file(SOURCES["duragent-agent"], "duragent-agent", THERE, None).notes
    assert {"extra", "spec.tools.2.timeout", "spec.soul", "metadata.version"} <= {note.key for note in notes}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from _paths(value[key], (*path, key))
    if isinstance(value, dict):
        yield path


@pytest.mark.parametrize("kind", FORMATS)
def test_unknown_key_anywhere_is_told(kind: str, tmp_path: Path) -> None:
    """One key more in each mapping of the source is one note more, unless all of the mapping is left out."""
    text = SOURCES[kind].read_text()
    fence = "---\n" if SOURCES[kind].suffix == ".md" else ""
    settings = text.split(fence)[1] if fence else text
    for path in _paths(yaml.safe_load(settings)):
        changed = yaml.safe_load(settings)
        at = changed
        for key in path:
            at = at[key]
        at["zz_unknown"] = "sesame"
        file = tmp_path / SOURCES[kind].name
        file.write_text(f"{fence}{json.dumps(changed)}\n{fence}")
        try:
            draft = import_file(file, kind, THERE, None)
        except ConfigurationError:
            continue  # a provider or an agent of this name has no text for its tools
        told = [note.key for note in draft.notes if note.kind == "left out"]
        whole = ".".join(map(str, (*path, "zz_unknown")))
        assert any(whole == key or whole.startswith(f"{key}.") for key in told) or "zz_unknown" in profile_text(
            draft
        ), whole
        assert "sesame" not in "".join(note.why for note in draft.notes)


def test_all_carried_is_exit_status_0(tmp_path: Path) -> None:
    """Nothing on standard error, the profile on standard output."""
    file = tmp_path / "policy.yaml"
    file.write_text("mode: restrict\ndeny: ['bash:*sudo*']\n")
    result = run(str(file))
    assert (result.exit_code, result.stderr) == (0, "")
    assert yaml.safe_load(result.stdout)["mode"] == "restrict"


def test_servers_of_a_stranger_are_not_started(tmp_path: Path, monkeypatch) -> None:
    """The profile names them, and the import itself, which checks it, opens none."""
    opened = list[str]()
    monkeypatch.setattr(Bridge, "_add_server", lambda _bridge, name, _rt: opened.append(name))
    servers = {"far": {"transport": "streamable-http", "url": "https://mcp.example.org/mcp"}}
    (tmp_path / "config.json").write_text(json.dumps({"agents": {}, "tools": {"mcp_servers": servers}}))

    ran = run("--from", "goclaw", str(tmp_path / "config.json"))

    assert yaml.safe_load(ran.stdout)["extensions"]["mcp_bridge"]["servers"] == servers
    assert opened == []


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    """All of them, unless --force is said; then they are replaced."""
    there = tmp_path / "git_analysis.yaml"
    there.write_text("mine")
    refused = run(str(SOURCES["llm-agent"]), "--output", str(tmp_path))
    assert (refused.exit_code, there.read_text()) == (2, "mine")
    assert "exists already" in refused.stderr
    assert run(str(SOURCES["llm-agent"]), "--output", str(tmp_path), "--force").exit_code == 1
    assert yaml.safe_load(there.read_text())["profile"] == "git_analysis"


def test_json5_is_read_as_goclaw_reads_it(tmp_path: Path) -> None:
    """Comments, names and quotes as they may be; each note at its place, and the same profile as of plain JSON."""
    plain = {
        "agents": {"defaults": {"subagents": {"maxConcurrent": 16}}},
        "tools": {"deny": ["exec"], "é$_": "\U0001f600/\n\x01"},
    }
    text = """// As people write it\r\n{
  agents: {defaults: {'subagents': {maxConcurrent: 0x10,},},}, /* two
  lines */ "tools": {deny: ['ex\\
ec',], é$_: '\\ud83d\\uDE00\\/\\n\\x01'},
}"""
    other = "[+1, -.5, 1., 2e2, -Infinity, 'it\\'s', true, null]"
    (tmp_path / "five.json").write_text(text)
    (tmp_path / "more.json5").write_text(other)
    (tmp_path / "plain.json").write_text(json.dumps(plain))

    five, more = Source(tmp_path / "five.json"), Source(tmp_path / "more.json5")

    assert (five.value, more.value) == (plain, [1, -0.5, 1.0, 200.0, float("-inf"), "it's", True, None])
    assert five.place("tools", "deny", 0) == f"{tmp_path / 'five.json'}:4:29"
    drafts = [import_file(tmp_path / name, "goclaw", THERE, "p").ordered_keys() for name in ("five.json", "plain.json")]
    assert drafts[0] == drafts[1]


def test_hooks_hold_in_a_session(tmp_path: Path) -> None:
    """A message comes unless its argument says not to, and keys are sent only after the screen of the same handle was looked at."""
    tools = ", ".join(f"{{type: builtin, name: {name}}}" for name in ("background_process", "memory"))
    head = "apiVersion: duragent/v1alpha1\nkind: Agent\nmetadata: {name: a}\n"
    (tmp_path / "agent.yaml").write_text(f"{head}spec: {{tools: [{tools}]}}\n")
    (tmp_path / "policy.yaml").write_text("mode: dangerous\n")
    profile = {
        **import_file(tmp_path / "agent.yaml", "duragent-agent", ALL_THERE, None).ordered_keys(),
        "runner": "host",
    }
    (tmp_path / "p.yaml").write_text(json.dumps(profile))
    with build_tools(tmp_path / "p.yaml", workspace=tmp_path, events=lambda _: None) as toolbox:
        spawned = toolbox.call("background_process", {"action": "spawn", "command": "sleep 9"})
        waited = toolbox.call("background_process", {"action": "spawn", "command": "true", "wait": True})
        keys = {"action": "send_keys", "handle": spawned.data["handle"], "keys": "a"}
        blind = toolbox.call("background_process", keys)
        toolbox.call("memory", {"action": "recall", "days": 2})
        again = toolbox.call("memory", {"action": "recall", "days": 2})

    assert "start a watcher" in spawned.text
    assert "start a watcher" not in waited.text
    assert (blind.reason, again.reason) == ("precondition_failed", "repeated_call")


def test_json_holds_text_and_notes() -> None:
    """One object for each file."""
    [one] = json.loads(run(str(SOURCES["llm-agent"]), "--json").stdout)
    assert (one["profile"], one["yaml"].splitlines()[-1]) == ("git_analysis", "  list_files: {}")
    assert {"left out", "narrower"} == {note["kind"] for note in one["notes"]}


@each_row(
    "name, text, said",
    [
        ("policy.yaml", "!! not: [yaml", "policy.yaml:1"),
        ("policy.yaml", "mode: lenient", "there are dangerous, ask, restrict"),
        ("policy.yaml", "kind: Policy\ndeny: bash:rm", "a list is expected"),
        ("policy.yaml", "kind: Policy\ndeny: [5]", "text is expected"),
        ("policy.yaml", "kind: Policy\napiVersion: v2", "is expected here"),
        ("config.json", '{"agents": {}, "tools": {"profile": "codng"}}', "no such profile"),
        ("config.json", '{"agents": {}, "tools": {"execApproval": {"ask": "never"}}}', "off, on-miss, always"),
        ("config.json", '{"agents": {"list": {"a*": {"tools": {"deny": ["exec"]}}}}}', "a star"),
        ("what.yaml", "a: 1", "Give --from"),
        ("what.yaml", "- 1", "Give --from"),
        ("p.yml", "backend: x\ntools: {git: {max_files: -1}}", "at least 1"),
        ("p.yml", "backend: x\ntools: {git: {allow_push: yes please}}", "true or false"),
        ("a.md", "---\nname: a\ntools: [Read]\npolicy: [Admin]\n---\n", "policy.0: only Patch"),
        ("a.md", "name: a\ntools: [Read]\n", "no front matter"),
        ("agent.yaml", _agent('{match: "*", type: depends_on, prior: bash}'), "a guard for each tool"),
        ("agent.yaml", _agent("{match: bash, type: depends_on, prior: web}"), "refuses each call"),
        ("agent.yaml", _agent("{match: bash, type: limit}"), "only depends_on and skip_duplicate"),
        ("config.json", "{agents: {}, // no end\n", "config.json:2:1"),
        ("config.json", "{agents: {}, 'agents': {}}", "config.json:1:22"),
        ("config.json", "{agents: 0x}", "a value of JSON5"),
        ("config.json", "{agents: 'a\nb'}", "does not end on its line"),
        ("config.json", "{agents: " + "[" * 101 + "]" * 101 + "}", "100 deep"),
        ("config.json", "{agents: {}} x", "nothing more"),
        ("config.json", "{agents: {} /*", "'}' is expected"),
        ("config.json", "{agents: {}, [1]: 2}", "the name of a member"),
    ],
)
def test_what_stops_the_import(name: str, text: str, said: str, tmp_path: Path) -> None:
    """A profile without it would permit what the source denied: nothing is printed."""
    (tmp_path / name).write_text(text)
    result = run(str(tmp_path / name))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


@each_row(
    "words, said",
    [
        (("policy.yaml", "config.json", "--name", "x"), "single file"),
        (("policy.yaml", "--name", "../x"), "letters"),
        (("policy.yaml", "policy.yaml"), "become a profile named"),
        (("gone.yaml",), "cannot be read"),
    ],
)
def test_what_cannot_be_asked_for(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Told, with exit status 2."""
    (tmp_path / "policy.yaml").write_text("mode: ask")
    (tmp_path / "config.json").write_text("{}")
    result = run(*(str(tmp_path / word) if "." in word[1:] and word[0] != "." else word for word in words))
    assert result.exit_code == 2
    assert said in result.stderr


def test_control_characters_of_a_key_reach_no_terminal(tmp_path: Path) -> None:
    """Nor a comment's end: the key stays in its line."""
    file = tmp_path / "policy.yaml"
    file.write_text('mode: dangerous\n"a\\e[31m\\nprofile: x\\u2028y": 1\n')
    result = run(str(file))
    assert "\x1b" not in result.output
    assert yaml.safe_load(result.stdout) == {"profile": "policy", "mode": "dangerous", "tools": {}}


TEXT = st.lists(st.sampled_from(["ls", "git", "push", "rm", " ", "-", "*", "a", "&&", ";", "(", "."]), max_size=4).map(
    "".join
)
PATTERN = st.builds(
    lambda kind, rest: f"{kind}{rest}", st.sampled_from(["bash:", "*:", "b:", "builtin:", "ba*:", "cli:", ""]), TEXT
)
POLICY = st.fixed_dictionaries(
    {"mode": st.sampled_from(["dangerous", "ask", "restrict"])},
    optional={"deny": st.lists(PATTERN, max_size=3), "allow": st.lists(PATTERN, max_size=3)},
)
COMMANDS = ["ls", "ls a", "git push", "git a", "rm -a", "ls && git push", "ls; rm a", "git ls", "ls -a"]
CALLS: list[tuple[str, dict[str, Any], str, str]] = [
    *(("bash", {"command": line}, "bash", line) for line in COMMANDS),
    ("web", {"action": "search", "query": "a"}, "builtin", "web:search"),
    ("web", {"action": "fetch", "url": "https://example.com"}, "builtin", "web:fetch"),
    ("schedule", {"action": "list"}, "builtin", "schedule:list"),
    ("background_process", {"action": "list"}, "builtin", "background_process:list"),
    ("background_process", {"action": "spawn", "command": "ls"}, "builtin", "background_process:spawn"),
]
TOOLS: dict[str, Any] = {"bash": {}, "web": {}, "schedule": {}, "background_process": {}}


def duragent(policy: dict[str, Any], kind: str, invocation: str) -> str:
    """What Duragent decides."""

    def found(key: str) -> bool:
        split = [one.partition(":") if ":" in one else ("*", ":", one) for one in policy.get(key, [])]
        return any(
            (of == "*" or patterns.matches(of, kind)) and patterns.matches(rest, invocation) for of, _, rest in split
        )

    if found("deny"):
        return "deny"
    return "allow" if policy["mode"] == "dangerous" or found("allow") else {"ask": "ask"}.get(policy["mode"], "deny")


@QUIET
@given(POLICY)
@example({"mode": "restrict", "allow": ["bash:ls"]})
@example({"mode": "ask", "allow": ["b:ls"]})
@example({"mode": "dangerous", "deny": ["bash:ls*git"]})
@example({"mode": "dangerous", "deny": ["spawn"]})
@example({"mode": "dangerous", "deny": ["bash:("]})
@example({"mode": "restrict", "allow": ["bash:ls && git push"]})
def test_policy_never_becomes_wider(tmp_path: Path, opened: Opened, policy: dict[str, Any]) -> None:
    """Whatever Duragent denies or asks about does not run here without a person, in every mode and for every type."""
    file = tmp_path / "policy.yaml"
    file.write_text(json.dumps(policy))
    draft = import_file(file, "duragent-policy", ALL_THERE, None)
    draft.keys["tools"] = TOOLS
    profile = tmp_path / "p.yaml"
    profile.write_text(SMALL)
    opened(profile, "duragent").close()
    profile.write_text(profile_text(draft))
    with opened(profile, "duragent") as box:
        for tool, args, kind, invocation in CALLS:
            if duragent(policy, kind, invocation) != "allow":
                assert box.decide(tool, args).outcome != "allow", (tool, args)


NAMES = [
    "read_file",
    "write_file",
    "exec",
    "web_fetch",
    "web_search",
    "cron",
    "group:fs",
    "group:web",
    "nope",
    "session_status",
]
LEVEL = st.fixed_dictionaries(
    {},
    optional={
        "profile": st.sampled_from(["full", "coding", "messaging", "minimal"]),
        "allow": st.lists(st.sampled_from(NAMES), max_size=3, unique=True),
        "deny": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "alsoAllow": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
    },
)
CONFIG = st.builds(
    lambda top, provider, agent, both: {
        "agents": {"list": {"ada": {"tools": {**agent, "byProvider": {"openai": both}}}}},
        "tools": {**top, "byProvider": {"openai": provider}},
    },
    LEVEL,
    LEVEL.map(lambda one: {key: value for key, value in one.items() if key in {"profile", "allow"}}),
    LEVEL.map(lambda one: {key: value for key, value in one.items() if key != "profile"}),
    LEVEL.map(lambda one: {key: value for key, value in one.items() if key == "allow"}),
)
GROUPS = {
    "fs": {"read_file", "write_file", "edit_file", "list_files", "search", "glob"},
    "web": {"web_search", "web_fetch"},
}
ALL = {*GROUPS["fs"], *GROUPS["web"], "exec", "cron", "session_status"}
PROFILES = {
    "full": ALL,
    "coding": {*GROUPS["fs"], "exec", "session_status"},
    "messaging": {"session_status"},
    "minimal": {"session_status"},
}


def _members(names: list[str]) -> set[str]:
    return {one for name in names for one in GROUPS.get(name.removeprefix("group:"), {name})} & ALL


def goclaw(config: dict[str, Any], *, provider: str = "", agent: str = "") -> set[str]:
    """Which tools GoClaw tells the model of: the steps of its pipeline."""
    top = config["tools"]
    of_provider = top["byProvider"].get(provider, {})
    own = config["agents"]["list"].get(agent, {}).get("tools", {})
    both = own.get("byProvider", {}).get(provider, {})
    seen = set(PROFILES[of_provider.get("profile") or top.get("profile") or "full"])
    for level in (top, of_provider, own, both):
        seen &= _members(level["allow"]) if level.get("allow") else ALL
    for level in (top, own):
        seen -= _members(level.get("deny", []))
    return seen | _members(top.get("alsoAllow", [])) | _members(own.get("alsoAllow", []))


CALLERS: list[dict[str, Any]] = [{}, {"provider": "openai"}, {"agent": "ada"}, {"agent": "ada", "provider": "openai"}]
OURS = {"exec": "bash", "search": "grep", "web_fetch": "web", "web_search": "web"}
ACTIONS = {
    "web_fetch": {"action": "fetch", "url": "https://example.com"},
    "web_search": {"action": "search", "query": "x"},
}


@QUIET
@given(CONFIG)
@example({"agents": {"list": {}}, "tools": {"allow": ["web_fetch"], "byProvider": {}}})
@example({"agents": {"list": {}}, "tools": {"deny": ["web_search"], "byProvider": {}}})
def test_pipeline_never_becomes_wider(tmp_path: Path, opened: Opened, config: dict[str, Any]) -> None:
    """For every caller, each tool that is seen here GoClaw shows, too; of `web` each action that its policy has."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    profile = tmp_path / "p.yaml"
    draft = import_file(file, "goclaw", ALL_THERE, None)
    profile.write_text(profile_text(draft))
    web = draft.keys["tools"].get("web", {"allowed_actions": []})
    actions = web.get("allowed_actions", ["search", "fetch"])
    with opened(profile, "goclaw") as box:
        for who in CALLERS:
            there = goclaw(config, **who)
            view = box.for_caller(Caller(**who))
            for name in ALL - {"web_search", "web_fetch"}:
                assert name in there or OURS.get(name, name) not in view, (who, name)
            for name, action in (("web_search", "search"), ("web_fetch", "fetch")):
                assert name in there or action not in actions or "web" not in view, (who, name)


@each_row(
    "approval, line, outcome",
    [
        ({}, "ls", "allow"),
        ({}, "rm -rf build", "deny"),
        ({}, "clang-format -i x.c", "deny"),
        ({"security": "deny"}, "ls", "deny"),
        ({"security": "deny", "ask": "always"}, "ls", "deny"),
        ({"security": "allowlist", "allowlist": ["git*"]}, "git status", "allow"),
        ({"security": "allowlist", "allowlist": ["git*"]}, "ls", "deny"),
        ({"security": "allowlist", "allowlist": ["ls"]}, "ls -la", "allow"),
        ({"security": "allowlist", "allowlist": ["ls"]}, "ls; id", "deny"),
        ({"security": "allowlist", "allowlist": ["["]}, "ls", "deny"),
        ({"security": "allowlist", "ask": "on-miss"}, "frobnicate x", "ask"),
        ({"ask": "on-miss"}, "git push --force", "ask"),
        ({"ask": "always", "allowlist": ["ls"]}, "ls", "ask"),
    ],
)
def test_command_lines_of_goclaw(
    approval: dict[str, Any], line: str, outcome: str, tmp_path: Path, opened: Opened
) -> None:
    """What its approval allows, asks about and denies; what its patterns refuse is refused whatever is approved."""
    (tmp_path / "config.json").write_text(json.dumps({"tools": {"execApproval": approval}, "agents": {}}))
    profile = tmp_path / "p.yaml"
    profile.write_text(profile_text(import_file(tmp_path / "config.json", "goclaw", ALL_THERE, None)))
    with opened(profile, "goclaw") as box:
        assert box.decide("bash", {"command": line}).outcome == outcome


def test_numbers_of_subagents_and_switches_are_carried(tmp_path: Path) -> None:
    """What the defaults of ours would widen."""
    config = {
        "agents": {
            "defaults": {"subagents": {"maxConcurrent": 2, "maxSpawnDepth": 3}, "memory": {"enabled": False}},
            "list": {"Ada": {"skills": ["pdf"], "tools": {"deny": ["exec"]}}},
        },
        "tools": {"web": {"duckduckgo": {"enabled": False}}},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    keys = import_file(tmp_path / "config.json", "goclaw", THERE, None).keys
    assert keys["tools"]["spawn"] == {"max_concurrent": 2, "max_depth": 3}
    assert "memory_search" not in keys["tools"]
    assert keys["tools"]["web"] == {"allowed_actions": ["fetch"]}
    assert keys["extensions"]["skills"] == {"agents": {"Ada": ["pdf"]}}
    assert {"for": {"agent": ["Ada", "ada"]}, "deny": ["bash"]} in keys["availability"]
    assert {"for": {"depth": ">=3"}, "deny": ["toolset:leaf-deny"]} in keys["availability"]


def test_tiers_are_united_and_the_last_mode_counts() -> None:
    """Workspace, agent, user: as in Duragent, a deny of none is lost."""
    keys = import_file(SOURCES["duragent-agent"], "duragent-agent", THERE, None).keys
    assert keys["mode"] == "ask"
    assert {"*:*sudo*", "bash:*rm -rf /*"} <= {rule for rule in keys["deny"] if isinstance(rule, str)}
    assert "bash:make test" in keys["allow"]
