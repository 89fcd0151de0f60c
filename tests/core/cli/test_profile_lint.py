"""`toolcharter profiles --check`: warnings, from the profile and from what stands above it."""

import json

import pytest

from .conftest import ASKER, install

PROFILE = """\
profile: p
tools:
  echo: {}
allow:
  - "bash:ls *"
  - {rule: echo, when: {wrod: {type: "null"}}}
deny:
  - "echo(wrd=*)"
notify:
  - match: ["later", "echo:x"]
availability:
  - {for: {depth: "<0"}, deny: [echo]}
"""
WARNINGS = [
    (
        "./p.yaml:5:5: allow: 'bash:ls *' can never match: no tool of the profile of kind 'bash' has commands. "
        "List such a tool under `tools`, or remove the rule."
    ),
    (
        "./p.yaml:6:5: allow: 'echo' has no effect: in mode 'policy' bounded tools, such as 'echo', need no rule. "
        "Bound it by its policy or by `deny`, or choose the mode 'restrict' or 'ask'."
    ),
    (
        "./p.yaml:8:5: deny: 'echo(wrd=*)' can never match: no argument of 'echo' is named 'wrd'. "
        "Did you mean 'word'? Arguments: 'count', 'loud', 'ratio', 'tags', 'times', 'word'."
    ),
    "./p.yaml:10:21: notify: 'echo:x' can never match: no action of 'echo' has that name. Actions: none.",
    "./p.yaml:12:5: availability.0: no caller matches its `for`. Remove it, or correct it.",
]


@pytest.fixture
def profile(desk):
    """A profile that does not mean what it says."""
    file = desk / "p.yaml"
    file.write_text(PROFILE.replace('"later", ', ""))
    return file


def test_warnings_stand_one_in_a_line_in_the_order_of_the_file(run, profile) -> None:
    """With place, key, what and fix; the profile can be used all the same."""
    profile.write_text(PROFILE.replace('"later", ', "        "))

    result = run("profiles", "--check", "./p.yaml")

    table = "name  check       place     description\np     5 warnings  ./p.yaml\n"
    assert result.stderr.splitlines() == [f"Warning: {warning}" for warning in WARNINGS]
    assert (result.stdout, result.exit_code) == (table, 0)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        pytest.param(("--strict", "./p.yaml"), 1, id="warnings"),
        pytest.param(("--strict", "--check", "./demo.yaml"), 0, id="nothing-to-say"),
        pytest.param(("--strict", "./p.yaml", "./broken.yaml"), 2, id="faults-first"),
    ],
)
def test_strict_makes_warnings_count(run, desk, profile, words, status) -> None:
    """For a CI job: a warning is 1, a fault remains 2."""
    (desk / "broken.yaml").write_text("profile: broken\ntools: {gti: {}}\n")

    assert run("profiles", *words).exit_code == status


def test_warnings_as_json_are_lines_too(run, profile) -> None:
    """Each is one text, in the same order."""
    profile.write_text(PROFILE.replace('"later", ', "        "))

    (row,) = json.loads(run("profiles", "--check", "--json", "./p.yaml").stdout)

    assert (row["faults"], row["warnings"]) == ([], WARNINGS)


def test_names_that_may_come_later_are_left_alone(run, desk) -> None:
    """What is in `missing_ok` and not there may be anything; what is there is judged."""
    (desk / "p.yaml").write_text(
        'profile: p\ntools: {echo: {}, later: {}}\nmissing_ok: [later, "group:web"]\n'
        'deny: ["later:x", "bash:*", "group:web", "echo:x"]\n'
    )

    result = run("profiles", "--check", "./p.yaml")

    what = "deny: 'echo:x' can never match: no action of 'echo' has that name. Actions: none."
    assert (result.stderr, result.exit_code) == (f"Warning: ./p.yaml:4:42: {what}\n", 0)


def test_exceptions_that_something_needs_are_no_finding(run, desk) -> None:
    """A name in `missing_ok` may be that of a rule, of an entry or of a member, listed or not."""
    (desk / "p.yaml").write_text(
        'profile: p\ntools: {echo: {}}\nmissing_ok: [a, b, c, d, e, "group:web", f]\ndeny: [a, "group:web"]\n'
        "availability: [{tools: [echo, b], deny: [c]}]\ntoolsets: {mine: [d]}\ngroups: {ours: [e]}\n"
    )

    result = run("profiles", "--check", "./p.yaml")

    assert [line.partition(" Did")[0] for line in result.stderr.splitlines()] == [
        (
            "Warning: ./p.yaml:3:42: missing_ok.6: the profile names no tool 'f', so this entry has no effect. "
            "Remove it, or list the tool."
        )
    ]


def test_what_ceilings_take_away_is_told(run, desk, monkeypatch) -> None:
    """The administrator's file, the workspace's and the environment; each is named, the place is the profile's."""
    admin = desk.parent / "admin.yaml"
    admin.write_text('deny: ["echo(word=*)"]\nmode: restrict\nlimits: {timeout_s: 5}\n')
    (desk / ".toolcharter").mkdir()
    (desk / ".toolcharter/policy.yaml").write_text("capabilities: {max_safety: low}\nlimits: {calls_per_hour: 9}\n")
    (desk / "p.yaml").write_text('profile: p\ntools: {echo: {}}\nallow: ["echo(word=h*)"]\nlimits: {timeout_s: 30}\n')
    monkeypatch.setenv("TOOLCHARTER_ADMIN_POLICY", str(admin))
    monkeypatch.setenv("ALLOWED_TOOL_PERMS", "fs:*")

    result = run("profiles", "--check", "./p.yaml")

    assert result.stderr.splitlines() == [
        f"Warning: ./p.yaml:1:1: mode: {admin} sets mode 'restrict': now an `allow` rule is needed for 'echo'.",
        (
            "Warning: ./p.yaml:2:9: tools.echo: ALLOWED_TOOL_PERMS hides it from everyone: "
            "The tool needs text, which is not permitted."
        ),
        (
            f"Warning: ./p.yaml:3:9: allow: {admin} takes 'echo(word=h*)' away: "
            f"every call that it would allow is denied by 'echo(word=*)' ({admin}:1:8)."
        ),
        (
            f"Warning: ./p.yaml:4:1: limits.calls_per_hour: {desk}/.toolcharter/policy.yaml permits no more than 9; "
            "the profile sets none."
        ),
        f"Warning: ./p.yaml:4:10: limits.timeout_s: {admin} permits no more than 5; the profile has 30.",
    ]
    assert result.exit_code == 0


UNANSWERED = (
    "no extension of the profile answers: calls that wait for a person are denied with 'approval_unavailable', unless "
    "the program that builds the tools passes an approver or `toolcharter` has a terminal to ask at. "
    "List an extension such as `approver`, or provide one of the others."
)


@pytest.mark.parametrize(
    ("asks", "place"),
    [
        pytest.param("ask: [echo]", "./p.yaml:3:1: ask", id="a rule"),
        pytest.param("mode: ask", "./p.yaml:3:1: mode", id="the mode"),
    ],
)
def test_a_profile_that_asks_and_brings_nobody_who_answers_is_told(run, desk, site, monkeypatch, asks, place) -> None:
    """Whether it asks by a rule or by its mode; with an extension that answers there is nothing to say."""
    monkeypatch.setenv("XDG_STATE_HOME", str(desk.parent / "state"))
    (desk / "p.yaml").write_text(f"profile: p\ntools: {{echo: {{}}}}\n{asks}\n")
    alone = run("profiles", "--check", "./p.yaml")
    install(site, "toolcharter-asker", module=ASKER, group="toolcharter.extensions")
    (site / "toolcharter_asker-1.0.dist-info/entry_points.txt").write_text(
        "[toolcharter.extensions]\nasker = toolcharter_asker\n"
    )
    (desk / "p.yaml").write_text(f"profile: p\ntools: {{echo: {{}}}}\nextensions: {{asker: {{}}}}\n{asks}\n")

    answered = run("profiles", "--check", "./p.yaml")

    assert (alone.stderr, answered.stderr) == (f"Warning: {place}: {UNANSWERED}\n", "")


@pytest.mark.parametrize(
    ("permitted", "said"),
    [
        pytest.param(
            "text, txet", "no installed tool declares the capability 'txet'.\nDid you mean 'text'?", id="word"
        ),
        pytest.param("text,fs:read", "no installed tool declares the capability 'fs:read'.\n", id="of-no-tool"),
        pytest.param("text,fs:*", None, id="a-glob-for-tools-elsewhere"),
        pytest.param("t*", None, id="a-glob-that-matches"),
    ],
)
def test_an_unknown_word_of_the_environment_is_a_fault(run, desk, monkeypatch, permitted, said) -> None:
    """A misspelt capability in ALLOWED_TOOL_PERMS takes away what its author meant to leave."""
    monkeypatch.setenv("ALLOWED_TOOL_PERMS", permitted)

    result = run("profiles", "--check", "./demo.yaml")

    if said is None:
        assert (result.stderr, result.exit_code) == ("", 0)
    else:
        known = "Known capabilities: 'text'.\n"
        told = f"ALLOWED_TOOL_PERMS: {said}"
        assert (result.stderr, result.exit_code) == ((told if told.endswith("\n") else f"{told} ") + known, 2)


CLOSING = "closing a tool failed: RuntimeError: stuck"
MEND = "The plugin's author has to fix the function that it passes to `rt.on_close`."


def test_a_tool_that_raises_while_it_closes_is_a_fault(run, desk) -> None:
    """`profiles --check` tells it as it tells what a constructor raises."""
    (desk / "demo.yaml").write_text("profile: demo\ntools: {echo: {fail_at_close: true}}\n")

    result = run("profiles", "--check", "./demo.yaml")

    assert (result.stderr, result.exit_code) == (f"./demo.yaml: {CLOSING}\n{MEND}\n", 2)


def test_a_tool_that_raises_while_it_closes_fails_the_cases(run, desk) -> None:
    """`test` reports it beside the cases, which have been decided."""
    (desk / "demo.yaml").write_text(
        "profile: demo\ntools: {echo: {fail_at_close: true}}\n"
        "cases: [{tool: echo, args: {word: no}, expect: deny, reason: word_not_allowed}]\n"
    )

    result = run("test", "./demo.yaml")

    assert result.stdout.startswith(f"FAILED ./demo.yaml: {CLOSING}\n\n./demo.yaml: 1 failed, 1 passed\n")
    assert (result.stderr, result.exit_code) == ("", 1)


def test_a_plugin_that_raises_while_it_closes_has_a_problem(run, site) -> None:
    """`plugins --check` builds each tool once, and closes it."""
    module = site / "toolcharter_demo/__init__.py"
    module.write_text(module.read_text().replace("fail_at_close: bool = False", "fail_at_close: bool = True"))

    result = run("plugins", "--check")

    assert CLOSING in result.stderr
    assert (MEND in result.stderr, result.exit_code) == (True, 2)
