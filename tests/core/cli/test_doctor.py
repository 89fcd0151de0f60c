"""`toolcharter doctor` proves that the gate is wired, and fails if it is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcharter.api.call import Decision
from toolcharter.cli.doctor import CountingSink
from toolcharter.policy.evaluate import ALLOWED, ToolPolicyView

from .conftest import ASKER, MODULE, PROFILE, install

DOCTOR = ("doctor", "--profile", "./demo.yaml", "--json")
CASES = "cases:\n  - {tool: echo, args: {word: hi}, expect: allow}\n"
FOUR = "hook.tool.before, hook.policy.before, hook.policy.deny, hook.tool.after"
MUST_NOT = "a call that must not pass"
MUST = "a dry run that must arrive"
REFUSED = ("tool echo", MUST_NOT, "ok", "denied at stage deny: denied_by_rule")
UNKNOWN = ("an unknown name", MUST_NOT, "ok", "denied at stage name: unknown_tool")
ARRIVED = ("tool echo", MUST, "ok", "reached: its own checks pass")


@pytest.fixture(autouse=True)
def _with_a_case(desk) -> None:
    (desk / "demo.yaml").write_text(PROFILE + CASES)


def rewrite(site: Path, *changes: tuple[str, str]) -> None:
    """Make another tool of the demo's."""
    module = MODULE
    for old, new in changes:
        assert old in module
        module = module.replace(old, new)
    (site / "toolcharter_demo/__init__.py").write_text(module)


def findings(result: Any) -> list[tuple[str, ...]]:
    return [tuple(finding.values()) for finding in json.loads(result.stdout)["findings"]]


def test_a_sound_profile_passes(run, desk) -> None:
    """One denied call per tool, one that arrives, an unknown name, and the sink that was named."""
    result = run("doctor", "-p", "./demo.yaml", "--events", "file:events.jsonl")

    assert result.stdout == (
        "what                    test                        result  detail\n"
        "tool echo               a call that must not pass   ok      denied at stage deny: denied_by_rule\n"
        "an unknown name         a call that must not pass   ok      denied at stage name: unknown_tool\n"
        "tool echo               a dry run that must arrive  ok      reached: its own checks pass\n"
        "sink file:events.jsonl  takes every event           ok      8 lines\n"
    )
    assert (result.stderr, result.exit_code) == ("", 0)
    events = [json.loads(line) for line in (desk / "events.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == FOUR.split(", ") * 2


def test_no_event_goes_where_nobody_asked_for(run, desk) -> None:
    """Without `--events` no sink is opened, not even standard error."""
    result = run(*DOCTOR)

    assert json.loads(result.stdout)["ok"] is True
    assert (findings(result), result.stderr, result.exit_code) == ([REFUSED, UNKNOWN, ARRIVED], "", 0)


def test_a_broken_gate_is_found_and_no_body_is_entered(run, desk, site, monkeypatch) -> None:
    """Where a rule stops nothing, a stand-in takes the call: the doctor itself acts on nothing."""
    rewrite(
        site, ("    ctx = rt.start", "    open('acted', 'w').close()\n        ctx = rt.start"), ("staged=True,", "")
    )
    monkeypatch.setattr(ToolPolicyView, "decide", lambda *_: ALLOWED)
    monkeypatch.setattr(ToolPolicyView, "constant_decision", ALLOWED)

    result = run(*DOCTOR)

    told = ("tool echo", MUST_NOT, "failed", "the call reached the tool, although a rule denies it")
    assert (findings(result)[0], result.exit_code) == (told, 1)
    assert json.loads(result.stdout)["ok"] is False
    assert not (desk / "acted").exists()


@pytest.mark.parametrize(
    ("target", "value", "told"),
    [
        pytest.param(
            "toolcharter.events.lines.ToolLines.deny",
            lambda *_: b"",
            f"the call wrote the events hook.tool.before, hook.policy.before, hook.tool.after; expected: {FOUR}",
            id="an event is missing",
        ),
        pytest.param(
            "toolcharter.events.sinks.FunctionSink.write",
            lambda *_: None,
            f"the call wrote the events none; expected: {FOUR}",
            id="no events",
        ),
        pytest.param(
            "toolcharter.policy.evaluate.decide_denied",
            lambda *_: Decision("deny", "mode", "odd"),
            "not for the expected reason: denied at stage mode: odd",
            id="another stage decides",
        ),
    ],
)
def test_a_gate_that_denies_in_another_way_is_found(run, monkeypatch, target, value, told) -> None:
    """All four events, and the rule that was put there for it."""
    monkeypatch.setattr(target, value)

    result = run(*DOCTOR)

    assert (findings(result)[0], result.exit_code) == (("tool echo", MUST_NOT, "failed", told), 1)


def test_an_unknown_name_that_is_not_told_is_found(run, monkeypatch) -> None:
    """It has to read as unknown."""
    monkeypatch.setattr("toolcharter.gate.toolbox.unknown_tool", lambda *_: Decision("deny", "deny", "odd"))

    told = "not for the expected reason: denied at stage deny: odd"
    assert findings(run(*DOCTOR))[1] == ("an unknown name", MUST_NOT, "failed", told)


def test_a_sink_that_loses_events_is_found(run) -> None:
    """Each sink by itself, with the cause of its losses."""
    result = run(*DOCTOR, "--events", "file:/dev/full", "--events", "file:events.jsonl")

    lost = "8 of 8 lines lost: OSError: [Errno 28] No space left on device"
    assert findings(result)[-2:] == [
        ("sink file:/dev/full", "takes every event", "failed", lost),
        ("sink file:events.jsonl", "takes every event", "ok", "8 lines"),
    ]
    assert result.exit_code == 1


def test_a_sink_that_is_given_nothing_is_found(run, monkeypatch) -> None:
    """No loss, and no event either."""
    monkeypatch.setattr("toolcharter.events.emitter.Emitter.emit", lambda *_: True)

    result = run(*DOCTOR, "--events", "file:events.jsonl")

    assert findings(result)[-1] == ("sink file:events.jsonl", "takes every event", "failed", "0 lines")


TOOLS = [
    pytest.param(
        [("ctx = rt.start", "1 / 0\n        ctx = rt.start")],
        ("failed", "at stage tool: unexpected_failure: ZeroDivisionError: division by zero"),
        id="crashes",
    ),
    pytest.param(
        [("ctx = rt.start", "rt.run(['true'])\n        ctx = rt.start")],
        ("failed", "at stage tool: unexpected_failure: the tool tried to act on the world before ctx.policy_passed()"),
        id="acts too early",
    ),
    pytest.param(
        [('"interrupt":\n', '"interrupt" or True:\n'), ("word not in policy.allowed", "True")],
        ("ok", "reached: it answers word_not_allowed: Not this word."),
        id="refuses the sample",
    ),
    pytest.param(
        [("@hookimpl\n", "@hookimpl\ndef check_call(call):\n    1 / 0\n\n\n@hookimpl\n")],
        (
            "failed",
            "at stage check: check_failed: The check of 'toolcharter-demo:toolcharter_demo' raised ZeroDivisionError.",
        ),
        id="a check fails",
    ),
    pytest.param(
        [("@hookimpl\n", "@hookimpl\ndef check_call(call):\n    return Deny('no', 'No.')\n\n\n@hookimpl\n")],
        ("not tried", "the sample ends at stage check: no: No."),
        id="a check denies",
    ),
]


@pytest.mark.parametrize(("changes", "told"), TOOLS)
def test_what_a_tool_makes_of_a_dry_run(run, site, changes, told) -> None:
    """Reached is what its own checks answer; a crash, or acting too early, is a fault."""
    rewrite(site, *changes)

    result = run(*DOCTOR)

    assert findings(result)[:3] == [REFUSED, UNKNOWN, ("tool echo", MUST, *told)]
    assert result.exit_code == (1 if told[0] == "failed" else 0)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param("pass", ("ok", "answered: denied, word_not_allowed"), id="answers"),
        pytest.param(
            "raise ToolError('It is not in the sandbox.', reason='program_not_found')",
            ("failed", "error, program_not_found: It is not in the sandbox."),
            id="misses its program",
        ),
    ],
)
def test_a_tool_that_only_reads_is_called(run, site, body, told) -> None:
    """Past its mark, where its programs run."""
    rewrite(
        site,
        ('capabilities={"text"}', 'capabilities={"fs:read"}'),
        ("if word not in policy.allowed:", f"ctx.policy_passed()\n        {body}\n        if True:"),
    )

    result = run(*DOCTOR)

    assert findings(result)[-1] == ("tool echo", "a call that reads", *told)
    assert result.exit_code == (1 if told[0] == "failed" else 0)


def test_a_tool_that_no_sample_fits(run, desk, site) -> None:
    """Its arguments are refused, which is a denial too; that it is reached cannot be tried."""
    (desk / "demo.yaml").write_text(PROFILE)
    rewrite(
        site,
        ("import json\n", "import json\nfrom typing import Annotated\nfrom pydantic import Field\n"),
        ("word: str", 'word: Annotated[str, Field(pattern="^[0-9]+$")]'),
    )

    result = run(*DOCTOR)

    refused, _, arrived = findings(result)
    no_sample = "invalid_arguments: no sample fits the tool's schema, so its arguments were refused"
    assert refused == ("tool echo", MUST_NOT, "ok", no_sample)
    assert arrived == (
        "tool echo",
        MUST,
        "not tried",
        "the sample ends at stage arguments: invalid_arguments: word: required",
    )


def test_the_first_sample_that_fits_is_taken(run, desk) -> None:
    """A case that tries wrong arguments proves nothing about rules."""
    (desk / "demo.yaml").write_text(f"{PROFILE}cases:\n  - {{tool: echo, args: {{wort: x}}, expect: error}}\n")

    arrived = "reached: it answers word_not_allowed: Not this word."
    assert findings(run(*DOCTOR)) == [REFUSED, UNKNOWN, ("tool echo", MUST, "ok", arrived)]


def test_undeclared_capabilities_are_noted(run, site) -> None:
    """No fault, but worth to be known."""
    rewrite(site, ('capabilities={"text"}, ', ""))

    detail = "undeclared: it counts as touching everything, at the highest safety level"
    assert findings(run(*DOCTOR))[0] == ("tool echo", "capabilities", "note", detail)


@pytest.mark.parametrize("asks", ["mode: ask", "ask: [echo]"])
def test_who_is_asked_is_noted(run, desk, site, monkeypatch, tmp_path_factory, asks) -> None:
    """By an extension, or by whoever is there; every extension that was built is closed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    install(site, "toolcharter-asker", module=ASKER, group="toolcharter.extensions")
    (site / "toolcharter_asker-1.0.dist-info/entry_points.txt").write_text(
        "[toolcharter.extensions]\nasker = toolcharter_asker\n"
    )
    (desk / "demo.yaml").write_text(f"{PROFILE}{asks}\n")
    alone = run(*DOCTOR)
    (desk / "demo.yaml").write_text(f"{PROFILE}{asks}\nextensions: {{asker: {{}}}}\n")

    extended = run(*DOCTOR)

    who = "at the terminal or by the host; without either such calls are denied"
    assert findings(alone)[0] == ("approvals", "who is asked", "note", who)
    assert findings(extended)[:2] == [
        ("extension asker", "is built", "ok", ""),
        ("approvals", "who is asked", "note", "by an extension"),
    ]
    assert (desk / "closed").read_text() == "closed " * 3


def test_a_tool_that_does_not_let_go_is_found(run, desk) -> None:
    """Closing belongs to a toolbox's life."""
    (desk / "demo.yaml").write_text(PROFILE.replace("{allowed: [", "{fail_at_close: true, allowed: [") + CASES)

    result = run(*DOCTOR)

    stuck = ("toolbox", "closes", "failed", "RuntimeError: stuck")
    assert (findings(result), result.exit_code) == ([REFUSED, UNKNOWN, stuck, ARRIVED, stuck], 1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--workspace", "nowhere"], "workspace: 'nowhere' is no folder.", id="no workspace"),
        pytest.param(["--events", "file:"], "events: the event sink is not understood: 'file:'", id="no sink"),
        pytest.param(["--events", "carrier:pigeon"], "carrier", id="no such plugin"),
    ],
)
def test_what_cannot_be_built_cannot_be_tried(run, words, told) -> None:
    """With status 2, as everywhere."""
    result = run(*DOCTOR, *words)

    assert (told in result.stderr, result.stdout, result.exit_code) == (True, "", 2)


def test_a_tool_without_a_function_is_a_fault_of_the_installation(run, site) -> None:
    """It stops the doctor as it stops every start."""
    rewrite(site, ("    return echo\n", "    return 5\n"))

    result = run(*DOCTOR)

    assert ("its constructor returned 5, not a function" in result.stderr, result.exit_code) == (True, 2)


class _Stuck:
    def write(self, lines: bytes) -> None:
        pass

    def close(self) -> None:
        raise OSError("stuck")


def test_a_sink_that_cannot_be_closed_has_failed() -> None:
    """The last lines may be lost with it; what the URL of a plugin's sink holds is not shown."""
    password = "hun" + "ter2"
    sink = CountingSink(f"redis://me:{password}@host", _Stuck())
    sink.write(b"{}\n")

    with pytest.raises(OSError, match="stuck"):
        sink.close()

    assert (sink.name, sink.taken, str(sink.error)) == ("sink redis:", 1, "stuck")


RUNNER = '''

class Box:
    """Stands for a sandbox."""

    name, is_sandbox = "box", True

    def run(self, job):
        RUN

    start = run

    def close(self):
        with open("closed", "a") as file:
            file.write("x")


class Opens:
    @hookimpl
    def open_runner(self, scope):
        return Box()


@hookimpl
def register_extensions():
    return [ExtensionSpec("box", ExtensionPolicy, lambda workspace, policy: Opens())]
'''
ENDED = "from toolcharter.api.runner import Ended; assert job.argv == ('true',); return Ended({code}, b'', b'', False, {late})"
NO_BOX = "raise Denied('sandbox_unavailable', 'There is no box.')"


@pytest.mark.parametrize(
    ("body", "result", "detail"),
    [
        (ENDED.format(code=0, late=False), "ok", "runs it in a sandbox"),
        (ENDED.format(code=127, late=False), "failed", "the program 'true' ended with 127"),
        (ENDED.format(code=-9, late=True), "failed", "the program 'true' did not end in time"),
        (NO_BOX, "failed", "sandbox_unavailable: There is no box."),
        ("raise ToolError('Odd.', reason='tool_error')", "failed", "tool_error: Odd."),
        ("raise ValueError('odd')", "failed", "ValueError: odd"),
    ],
    ids=["runs", "fails", "hangs", "missing", "error", "raises"],
)
def test_the_profiles_runner_is_tried(run, desk, site, body: str, result: str, detail: str) -> None:
    """One program that does nothing runs in it, and it is closed again."""
    install(
        site,
        "toolcharter-box",
        "from toolcharter import *\n" + RUNNER.replace("RUN", body, 1),
        "toolcharter.extensions",
    )
    (site / "toolcharter_box-1.0.dist-info/entry_points.txt").write_text(
        "[toolcharter.extensions]\nbox = toolcharter_box\n"
    )
    (desk / "demo.yaml").write_text(PROFILE + CASES + "runner: box\n")

    ended = run(*DOCTOR)

    assert ("runner box", "runs a program", result, detail) in findings(ended)
    assert ended.exit_code == (0 if result == "ok" else 1)
    assert (desk / "closed").read_text() == "x"


def test_the_host_is_told_to_contain_nothing(run, desk) -> None:
    """And a profile without a runner has none to try."""
    (desk / "demo.yaml").write_text(PROFILE + CASES + "runner: host\n")

    told = [one for one in findings(run(*DOCTOR)) if one[0].startswith("runner")]
    (desk / "demo.yaml").write_text(PROFILE + CASES)
    untold = [one for one in findings(run(*DOCTOR)) if one[0].startswith("runner")]

    assert told == [("runner host", "runs a program", "ok", "runs it without a sandbox")]
    assert untold == []
