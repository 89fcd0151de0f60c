"""What "allow always" keeps covers one call; for what runs other programs it keeps nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolcharter.gate.approvals.narrowest import MAX_RULE_BYTES, Always, is_launcher, narrowest
from toolcharter.guards.shell.parts import quoted
from toolcharter.policy.facts import Subject, ToolFacts
from toolcharter.policy.matching import Matcher
from toolcharter.profile.globs import parse_glob
from toolcharter.profile.rules import parse_rule

WORK = Path("/work")
KEY = "AKIA" + "Z7QK3MNB" * 2


def of_command(*commands: str, workspace: Path = WORK, kind: str = "bash") -> Always:
    args = {"command": "; ".join(commands)}
    return narrowest(
        kind,
        "bash",
        None,
        args,
        commands=commands,
        sources=list(args.values()),
        arguments=["command"],
        workspace=workspace,
    )


def test_what_stands_beside_a_command_is_kept_with_it() -> None:
    """The same program may do something else with other input: absent arguments are bound, too."""
    args = {"command": "wc -l", "stdin": "a"}

    kept = narrowest(
        "bash",
        "bash",
        None,
        args,
        commands=["wc -l"],
        sources=["wc -l"],
        arguments=["command", "stdin", "timeout_ms"],
        workspace=WORK,
    )

    assert kept == Always({"rule": "bash:wc -l", "when": {"stdin": {"const": "a"}, "timeout_ms": {"const": None}}})


def test_no_command_is_kept_of_a_tool_with_unknown_arguments() -> None:
    """Another argument could make another call of it."""
    args = {"command": "wc -l"}

    kept = narrowest("bash", "bash", None, args, commands=["wc -l"], sources=["wc -l"], arguments=None, workspace=WORK)

    assert kept == Always(why_not="It may be given arguments that its tool does not list.")


def of_arguments(args: dict[str, Any], *, action: str | None = None, arguments=("a",), tool: str = "push") -> Always:
    return narrowest("builtin", tool, action, args, arguments=arguments, workspace=WORK)


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        pytest.param("pytest -q", "bash:pytest -q", id="plain"),
        pytest.param("ls '*'", r"bash:ls '\*'", id="a star in quotes"),
        pytest.param(r"grep '\*'", r"bash:grep '\\\*'", id="a backslash before it"),
        pytest.param("ls 'a b'", "bash:ls 'a b'", id="a blank in quotes"),
        pytest.param("/usr/bin/wc -l x", "bash:/usr/bin/wc -l x", id="a program by its whole path"),
        pytest.param("cat größe.txt", None, id="letters that need quotes, without them"),
        pytest.param("cat 'größe.txt'", "bash:cat 'größe.txt'", id="letters that need quotes"),
    ],
)
def test_a_command_is_kept_as_it_is(command, rule) -> None:
    """The rule is the normal form, and no star of it is a wildcard."""
    assert of_command(command).rule == rule


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"])), max_size=4))
@example(["*", "\\*", "\\"])
@example(["[", "!", "{}"])
def test_the_rule_of_a_command_matches_that_command_only(words) -> None:
    """Whatever it holds, its rule has no star."""
    command = " ".join(map(quoted, ["wc", *words]))
    always = of_command(command)

    if isinstance(always.rule, str):
        glob = parse_rule(always.rule).glob
        assert (glob.literal, glob.matches(command + "x")) == (command, False)
    else:
        assert always.why_not in {
            "It holds what may be a secret, which must not be stored.",
            "The command holds characters that cannot be seen.",
        }


@pytest.mark.parametrize(
    ("commands", "why_not"),
    [
        pytest.param(["ls", "wc x"], "It is more than one command.", id="two commands"),
        pytest.param(["ls", "sh x"], "'sh' can run any other program.", id="the second is a shell"),
        pytest.param(["python3.11 x.py"], "'python3.11' can run any other program.", id="an interpreter"),
        pytest.param(["/usr/bin/env ls"], "'/usr/bin/env' can run any other program.", id="a wrapper by its path"),
        pytest.param(["X=1 ls"], "The command sets a variable.", id="an assignment"),
        pytest.param(["X+=1 ls"], "The command sets a variable.", id="an assignment that adds"),
        pytest.param(["./run"], "'./run' is a file that tools could change.", id="a program from here"),
        pytest.param(["bin/run"], "'bin/run' is a file that tools could change.", id="a program from below"),
        pytest.param(["/work/run"], "'/work/run' is a file that tools could change.", id="one in the workspace"),
        pytest.param(["/usr/../work/x"], "'/usr/../work/x' is a file that tools could change.", id="a way into it"),
        pytest.param(["ls >x"], "The command is more than plain words.", id="a redirection"),
        pytest.param(["ls $HOME"], "The command is more than plain words.", id="an expansion"),
        pytest.param(["ls *"], "The command is more than plain words.", id="a pattern"),
        pytest.param(["ls ; rm x"], "The command is more than plain words.", id="two in one"),
        pytest.param(["ls  x"], "The command is more than plain words.", id="no normal form"),
        pytest.param(["ls 'x"], "The command is more than plain words.", id="an open quote"),
        pytest.param([""], "The command is more than plain words.", id="nothing"),
        pytest.param(["ls 'a\nb'"], "The command holds characters that cannot be seen.", id="a line break"),
        pytest.param(["ls 'a\u202eb'"], "The command holds characters that cannot be seen.", id="a bidi override"),
        pytest.param(["ls 'a\u200bb'"], "The command holds characters that cannot be seen.", id="a zero width space"),
        pytest.param(
            ["ls '\u3164'"], "The command holds characters that cannot be seen.", id="a letter without a mark"
        ),
        pytest.param(["ls " + KEY], "It holds what may be a secret, which must not be stored.", id="a secret"),
        pytest.param(
            ["ls " + "x" * MAX_RULE_BYTES], f"The rule would be longer than {MAX_RULE_BYTES} bytes.", id="too long"
        ),
    ],
)
def test_commands_that_are_not_kept(commands, why_not) -> None:
    """The person who is asked reads why "always" is not offered."""
    assert of_command(*commands) == Always(None, why_not)


def test_a_link_into_the_workspace_is_not_kept(workspace, tmp_path) -> None:
    """A program outside is what a tool writes inside, if a link leads there."""
    (tmp_path / "run").symlink_to(workspace / "run")

    assert of_command(f"{tmp_path}/run", workspace=workspace).rule is None


@pytest.mark.parametrize(("size", "offered"), [(MAX_RULE_BYTES, True), (MAX_RULE_BYTES + 1, False)])
def test_a_rule_has_a_longest_form(size, offered) -> None:
    """At the limit and one past it."""
    assert (of_command("wc " + "x" * (size - len("bash:wc "))).rule is not None) is offered


@pytest.mark.parametrize(
    ("always", "rule"),
    [
        pytest.param(
            of_arguments({"a": 1}), {"rule": "push", "when": {"a": {"const": 1}}}, id="each argument is fixed"
        ),
        pytest.param(
            of_arguments({"a": [1, {"b": None}]}, action="log"),
            {"rule": "push:log", "when": {"a": {"const": [1, {"b": None}]}}},
            id="the action is named",
        ),
        pytest.param(
            of_arguments({"action": "a(*)"}, action="a(*)", arguments=["action"]),
            {"rule": "push", "when": {"action": {"const": "a(*)"}}},
            id="an action that means something in a rule",
        ),
        pytest.param(
            of_arguments({}, arguments=["a", "b"]),
            {"rule": "push", "when": {"a": {"const": None}, "b": {"const": None}}},
            id="absent arguments stay absent",
        ),
        pytest.param(of_arguments({}, arguments=()), "push", id="a tool without arguments"),
    ],
)
def test_a_call_is_kept_with_its_arguments(always, rule) -> None:
    """Each argument has to be what it is in this call, and a profile can read the rule."""
    assert always == Always(rule)
    text = rule if isinstance(rule, str) else rule["rule"]
    assert parse_rule(text).glob.literal == text.removeprefix("custom:")
    assert always.text == (rule if isinstance(rule, str) else json.dumps(rule))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.text(max_size=2), below, max_size=2),
    max_leaves=4,
)
CALLS = st.dictionaries(st.sampled_from("abc"), JSON)


@settings(deadline=None)  # The first example compiles the scrubber's patterns.
@given(approved=CALLS, called=CALLS, action=st.sampled_from(["log", "Log", "a b", None]))
@example(approved={"a": 1}, called={"a": True}, action=None)
@example(approved={"a": None}, called={}, action=None)
@example(approved={"a": {"\ufeff": None}}, called={}, action=None)
def test_policy_lets_that_call_pass_and_no_other(approved, called, action) -> None:
    """Held against calls as a rule of a profile is; only null and absent are one to `when`."""
    always = of_arguments(approved, action=action, arguments="abc")
    assert isinstance(always.rule, dict)
    matcher = Matcher(parse_rule(always.rule["rule"], when=always.rule["when"]))

    def covers(args: dict[str, Any]) -> bool:
        return matcher.covers(ToolFacts("push", "custom"), Subject(action, args))

    same = [json.dumps([args.get(name) for name in "abc"], sort_keys=True) for args in (approved, called)]
    assert (covers(approved), covers(called)) == (True, same[0] == same[1])


@pytest.mark.parametrize(
    ("always", "why_not"),
    [
        pytest.param(
            of_arguments({"a": 1}, arguments=None), "'push' may be given arguments that it does not list.", id="open"
        ),
        pytest.param(of_arguments({"a": KEY}), "It holds what may be a secret, which must not be stored.", id="secret"),
        pytest.param(of_arguments({"a": WORK}), "Its arguments are no JSON.", id="no json"),
        pytest.param(of_arguments({"a": float("nan")}), "Its arguments are no JSON.", id="no number of json"),
        pytest.param(
            of_arguments({"a": "x" * MAX_RULE_BYTES}),
            f"The rule would be longer than {MAX_RULE_BYTES} bytes.",
            id="long",
        ),
        pytest.param(of_arguments({}, tool="bash"), "A rule cannot name 'bash' alone.", id="the name is a prefix"),
        pytest.param(
            of_command("sh x", kind="custom"), "'sh' can run any other program.", id="another kind that runs a shell"
        ),
    ],
)
def test_calls_that_are_not_kept(always, why_not) -> None:
    """The same for tools without commands."""
    assert (always, always.text) == (Always(None, why_not), None)


@pytest.mark.parametrize(
    "program",
    [
        "sh", "bash", "/bin/sh", "python", "python3", "python3.11", "python3.13t", "python2.7-dbg", "PYTHON.EXE",
        "perl5.36", "env", "nice", "nohup", "timeout", "time", "xargs", "setsid", "stdbuf", "sudo", "doas", "su", "ssh",
        "find", "git", "make", "npm", "npx", "yarn", "pnpm", "busybox", "gcc-12", "x86_64-linux-gnu-gcc-12",
        "ld-linux-x86-64.so.2", "R", "node18", ".", "x" * 256,
    ],
)  # fmt: skip
def test_launchers(program) -> None:
    """Interpreters and wrappers, under every name they are installed by."""
    assert is_launcher(program)


@pytest.mark.parametrize(
    "program", ["ls", "wc", "pytest", "cargo", "ruff", "mypy", "md5sum", "bzip2", "e2fsck", "diff", "sort", "7"]
)
def test_programs_that_are_none(program) -> None:
    """What does its own work may be allowed for good."""
    assert not is_launcher(program)


def test_no_program_of_gtfobins_is_offered(project_root) -> None:
    """Whatever is known to start a shell or a command is in our list."""
    samples = project_root.parent / "shared/cases/security/gtfobins.json"
    if not samples.exists():
        pytest.skip("the samples lie beside the project's own checkout only")
    functions = json.loads(samples.read_text())["functions"]

    names = {*functions["shell"], *functions["command"]}
    words = ("", " x", " -c x", " .", " exec y", " run -x", " a b")
    offered = [name + end for name in names for end in words if of_command(name + end).rule]

    assert offered == []


@pytest.mark.parametrize("command", ["npm test", "npm run build:all", "yarn test", "pnpm run e2e"])
def test_one_script_of_the_project_may_be_kept(command) -> None:
    """The exact command, as for any program that runs what the project holds."""
    assert of_command(command).rule == f"bash:{command}"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "npm",
            "npm x",
            "npm exec eslint",
            "npm test x",
            "npm run",
            "npm run build x",
            "npm --prefix test",
            "npx test",
        ),
        *("make lint", "yarn dlx", "npm init", "/usr/bin/npm test", "npm run --x"),
    ],
)
def test_no_more_of_a_runner_is_kept(command) -> None:
    """An option, a path, a variable or another subcommand could run anything."""
    assert of_command(command).rule is None


def test_a_glob_is_what_a_profile_reads() -> None:
    """The escape is the profile's own."""
    assert parse_glob(str(of_command("ls '*'").rule)).literal == "bash:ls '*'"
