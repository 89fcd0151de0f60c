"""`toolcharter explain`: why a call would be decided as it is."""

import json
from dataclasses import fields

import pytest

from toolcharter.api.call import Caller
from toolcharter.cli.options import _CALLER_FACTS

from .conftest import MODULE, PROFILE, QUIET

RULES = """
deny:
  - "echo(word=n*)"
  - {rule: echo, when: {times: {minimum: 3}}, reason: too_often, message: Twice is enough.}
availability:
  - {for: {agent: guest}, deny: [echo]}
"""


@pytest.fixture
def rules(desk) -> None:
    (desk / "demo.yaml").write_text(PROFILE + RULES)


def test_each_stage_is_shown_in_a_plain_tree(run, desk, rules) -> None:
    """The deciding rule, the one that lost, what would change it, and what later stages would have said."""
    result = run("explain", "echo", "word=no", "times=3", *QUIET)

    head, digest, *lines = result.stdout.splitlines()
    assert head == "echo: deny at stage deny, denied_by_rule"
    assert digest.startswith("  profile: demo, digest ")
    assert lines == [
        '  arguments: {"word":"no","times":3,"loud":false,"tags":[],"ratio":null}',
        "  name: pass",
        "    looked at: 'echo', from toolcharter-demo",
        "  arguments: pass",
        "    looked at: the schema of the arguments: loud, ratio, tags, times, word",
        "  floor: pass",
        "    looked at: what the call would run: no commands",
        "  deny: deny; this decides",
        "    looked at: deny rules: 2",
        "    said: denied_by_rule: A rule of the profile denies this call.",
        "    hint: Do not repeat the call; take another way, or ask the user.",
        "    rule: echo(word=n*)  ./demo.yaml:8:5: matches; decides",
        '    rule: echo when {"times":{"minimum":3}}  ./demo.yaml:9:5: matches; does not decide',
        "    to change it: remove the deny rule 'echo(word=n*)' at ./demo.yaml:8:5, or narrow it",
        "    to change it: remove the deny rule 'echo' at ./demo.yaml:9:5, or narrow it",
        "  availability: would pass",
        "    looked at: the entries of `availability` for this caller",
        "  capability: would pass",
        "    looked at: capabilities: text; safety 'low'; bounded by: nothing",
        "  ask: would pass",
        "    looked at: ask rules: 0",
        "  mode: would allow",
        "    looked at: mode: policy; the tool is bounded, of kind 'builtin'; allow rules: 0",
        "  check: not asked",
        "    looked at: checks of plugins: none",
        "  guard: not asked",
        "    looked at: session guards: none",
        "  approval: not asked",
        "    looked at: no person has to be asked",
        "  limit: not asked",
        "    looked at: rate limits: none apply to the tool",
        "  tool: not asked",
        "    looked at: its own checks, in a dry run",
    ]
    assert (result.stderr, result.exit_code) == ("", 0)
    assert (desk / "events.jsonl").read_text() == ""


def test_a_condition_stands_beside_its_rule(run, rules) -> None:
    """In the tree, and in JSON."""
    words = ["explain", "echo", "word=hi", "times=5", *QUIET]

    tree, plain = run(*words), run(*words, "--json")

    line = '    rule: echo when {"times":{"minimum":3}}  ./demo.yaml:9:5: matches; decides'
    assert line in tree.stdout.splitlines()
    (step,) = (step for step in json.loads(plain.stdout)["steps"] if step["decides"])
    assert [rule["when"] for rule in step["rules"]] == [{"times": {"minimum": 3}}]


def test_json_is_the_whole_explanation(run, rules) -> None:
    """For programs; it decides as `decide` does."""
    result = run("explain", "echo", "--args", '{"word": "hi", "times": 5}', "--json", *QUIET)
    (decided,) = map(
        json.loads,
        run("decide", *QUIET, stdin='{"tool": "echo", "args": {"word": "hi", "times": 5}}').stdout.splitlines(),
    )

    found = json.loads(result.stdout)
    decision = found["decision"]
    assert decided == {"id": None, **{key: decision[key] for key in decided if key != "id"}}
    assert (decision["reason"], decision["rule"]) == ("too_often", {"text": "echo", "source": "./demo.yaml:9:5"})
    assert [step["stage"] for step in found["steps"] if step["decides"]] == ["deny"]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        pytest.param(
            ["echo", "word=ho"],
            [
                "  tool: deny; this decides",
                "    said: word_not_allowed: Not this word.",
                "    hint: Say another.",
                "    to change it: change the policy of 'echo' under `tools`, or the call",
            ],
            id="the tool's own checks",
        ),
        pytest.param(
            ["echo", "word=hi", "--caller", "agent=guest", "--caller", "depth=1"],
            [
                "  not listed for this caller: not_available: The tool 'echo' is not available to this caller.",
                "    rule: echo  ./demo.yaml:11:5: denies it to this caller; decides",
                "    to change it: take 'echo' out of the `deny` of the entry at ./demo.yaml:11:5",
            ],
            id="the caller",
        ),
        pytest.param(["ecko"], ["    to change it: call it by its name. Did you mean 'echo'?"], id="unknown tool"),
        pytest.param(
            ["echo", "wort=x"],
            [
                "    to change it: fix word: required",
                "    to change it: fix wort: no such argument. Did you mean 'word'?",
            ],
            id="invalid arguments",
        ),
        pytest.param(["echo", "word=hi"], ["echo: allow at stage mode"], id="allowed"),
    ],
)
def test_whatever_ends_the_call_is_explained(run, rules, words, shown) -> None:
    """With status 0: the question was answered."""
    result = run("explain", *words, *QUIET)

    lines = result.stdout.splitlines()
    assert [line for line in shown if line not in lines] == []
    assert result.exit_code == 0


def test_commands_are_shown(run, site) -> None:
    """In normal form, as rules see them."""
    bash = 'staged=True, kind="bash", invocation=lambda args: Invocation(commands=(args["word"],)),'
    (site / "toolcharter_demo/__init__.py").write_text(MODULE.replace("staged=True,", bash))

    lines = run("explain", "echo", "word=wc  -l", *QUIET).stdout.splitlines()

    told = "  command: wc -l: covered by no allow rule; this decides"
    assert (lines[0], lines[3]) == ("echo: deny at stage mode, not_in_allow", told)
    assert "    to change it: add an allow rule such as 'bash:wc -l'" in lines


def test_each_command_is_told_with_what_it_needs(run, site, desk) -> None:
    """What starts it, what a rule has to mention, where it has to look, whether it is known, and which one decides."""
    bash = 'staged=True, kind="bash", invocation=lambda args: Invocation(commands=(args["word"],)),'
    (site / "toolcharter_demo/__init__.py").write_text(MODULE.replace("staged=True,", bash))
    (desk / "demo.yaml").write_text(PROFILE + 'allow: ["bash:sort *", "bash:sh *"]\n')

    lines = run("explain", "echo", "word=sh -c 'sort -o a b; polish x'", *QUIET).stdout.splitlines()

    unnamed = (
        "matched by 'bash:sort *' at ./demo.yaml:6:9, but does not mention every word that it has to; this decides"
    )
    assert lines[3:9] == [
        "  command: sh -c 'sort -o a b; polish x': covered by 'bash:sh *' at ./demo.yaml:6:24",
        f"  command: sort -o a b (in sh): {unnamed}",
        "    no star in a rule covers this: -o is an option that a rule has to mention",
        "    has to lie in the workspace: a, b",
        "  command: polish x (in sh): covered by no allow rule; this decides",
        "    this program is unknown: a rule has to mention each of its options",
    ]


def test_no_control_character_reaches_the_reader(run) -> None:
    """What a call holds cannot drive a terminal, not even through a pipe."""
    result = run("explain", "echo", "word=\x1b[2J\u202e", "tags=\udcff", *QUIET)
    unreadable = run("explain", "\x1b[2J\u202e\n", *QUIET)

    assert not {"\x1b", "\u202e"} & {*result.stdout, *unreadable.stdout}


def test_a_terminal_shows_a_tree(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With rich, wrapped and never cropped."""
    monkeypatch.setattr("toolcharter.cli.output.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")

    result = run("explain", "echo", "word=hi", *QUIET)

    lines = result.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("echo: allow at stage mode", "    └── looked at: its own checks, in a dry run")
    assert max(map(len, lines)) <= 60
    assert "numbers" not in result.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(["agent"], "'agent' is not of the form FACT=VALUE", id="no value"),
        pytest.param(["name=x"], "'name=x' is not of the form FACT=VALUE", id="no such fact"),
        pytest.param(["agent=a", "agent=b"], "'agent' is given twice.", id="twice"),
        pytest.param(["depth=-1"], "'depth' is a whole number from 0 on, not '-1'.", id="no depth"),
        pytest.param(["peer=both"], "'peer' is one of direct, group, not 'both'.", id="no peer"),
    ],
)
def test_a_caller_is_facts(run, words, error) -> None:
    """What is no fact of a caller is refused with status 2."""
    result = run("explain", "echo", *(word for fact in words for word in ("--caller", fact)), *QUIET)

    assert (error in result.stderr, result.exit_code) == (True, 2)


def test_other_commands_take_the_caller_too(run, rules) -> None:
    """The same tool, for one caller and for another."""
    guest = ("--caller", "agent=guest", *QUIET)
    line = '{"tool": "echo", "args": {"word": "hi"}}'

    assert [run("call", "echo", "word=hi", *who).exit_code for who in (QUIET, guest)] == [0, 1]
    for name in ("run", "decide"):
        reasons = [json.loads(run(name, *who, stdin=line).stdout)["reason"] for who in (QUIET, guest)]
        assert reasons == [None, "not_available"]
    assert [len(json.loads(run("tools", "--json", *who).stdout)) for who in (QUIET, guest)] == [1, 0]


def test_the_callers_facts_are_those_of_a_caller() -> None:
    """None is forgotten but what the gate itself sets for agents that tools start."""
    assert sorted([*_CALLER_FACTS, "delegation"]) == sorted(field.name for field in fields(Caller))
