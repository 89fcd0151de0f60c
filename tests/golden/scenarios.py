"""The golden calls through policy: names, arguments, rules, modes, ceilings, paths, commands, what a body does."""

from collections.abc import Mapping
from typing import Any

from toolcharter import Caller, Toolbox

from .plugin import RAN, SECRET
from .scenario_run import ScenarioRun, scenario

WORD = {"word": "hi"}


def refuse(run: ScenarioRun, tool: str, args: Mapping[str, Any], **settings: Any) -> Toolbox:
    """One call of one tool, decided, explained and made, and what has run."""
    toolbox = run.open(tool, **settings)
    run.decide(toolbox, tool, args)
    run.explain(tool, args)
    run.call(toolbox, tool, args)
    run.note("ran", RAN)
    return toolbox


@scenario
def ok_staged(run: ScenarioRun) -> None:
    """A staged tool, by its name, by its alias, by another name of an argument; with all facts of a caller."""
    caller = Caller("reviewer-1", "aws", "dev", "s-7", "ann", "shop", 1)
    toolbox = run.open("echo", caller=caller)
    run.shows_frames = True
    spellings: list[tuple[str, dict[str, str | None]]] = [
        ("echo", {"word": "hi"}),
        ("SAY", {"text": "alias"}),
        ("echo", {"word": None, "action": " Wave "}),
    ]
    for tool, args in spellings:
        run.call(toolbox, tool, args)
    run.decide(toolbox, "echo", WORD)
    run.explain("echo", WORD, "--caller", "agent=reviewer-1")


@scenario
def ok_with_ids_of_a_host(run: ScenarioRun) -> None:
    """Identifiers that the host brings, whole, cut and made anew."""
    toolbox = run.open("echo")
    for call_id, parent_id in [("host-1", "host-0"), ("x" * 300, None), ("", "")]:
        run.call(toolbox, "echo", WORD, call_id=call_id, parent_id=parent_id)


@scenario
def ok_plain_returns(run: ScenarioRun) -> None:
    """What a body may return without a context."""
    toolbox = run.open("body")
    for how in ("text", "nothing", "object", "all fields"):
        run.call(toolbox, "body", {"how": how})
    run.explain("body", {"how": "text"})


@scenario
def ok_printed_json(run: ScenarioRun) -> None:
    """A tool of kind cli, whose text becomes data where it is JSON."""
    toolbox = run.open("printing", allow=["printing"])
    for text in ('{"a": [1, 2]}', "no json"):
        run.call(toolbox, "printing", {"text": text})


@scenario
def remembered_decision(run: ScenarioRun) -> None:
    """The same call again, whose decision is remembered, and another."""
    toolbox = run.open("echo", deny=["echo(word=bad)"])
    for word in ("hi", "hi", "bad", "bad"):
        run.call(toolbox, "echo", {"word": word})


@scenario
def unknown_tool(run: ScenarioRun) -> None:
    """Names that the profile does not have."""
    toolbox = run.open("echo")
    for tool in ("eco", "nothing_like_it", ""):
        run.call(toolbox, tool, WORD)
    run.decide(toolbox, "eco", WORD)
    run.explain("eco", WORD)


@scenario
def invalid_arguments(run: ScenarioRun) -> None:
    """Unknown, missing, of a wrong type, given twice, and no mapping."""
    toolbox = run.open("echo", "body")
    for args in ({"wrod": "x"}, {"word": 7}, {"word": "a", "text": "b"}):
        run.call(toolbox, "echo", args)
        run.explain("echo", args)
    run.call(toolbox, "body", {})
    run.decide(toolbox, "body", {})
    run.call(toolbox, "body", [1])  # type: ignore[arg-type]


@scenario
def denied_by_floor(run: ScenarioRun) -> None:
    """A command that nobody can permit."""
    refuse(run, "command", {"line": "rm -rf /"}, allow=["bash:*"], mode="dangerous")


@scenario
def denied_by_rule(run: ScenarioRun) -> None:
    """A rule of deny."""
    refuse(run, "echo", WORD, deny=["echo(word=h*)"])


@scenario
def denied_by_rule_with_a_reason(run: ScenarioRun) -> None:
    """A long rule with a condition, a reason and a message; and a call that its condition does not hold for."""
    rule = {
        "rule": "echo",
        "when": {"word": {"type": "string", "minLength": 2}},
        "reason": "long",
        "message": "Shorter.",
    }
    toolbox = refuse(run, "echo", WORD, deny=[rule])
    run.call(toolbox, "echo", {"word": "h"})


@scenario
def denied_not_in_allow(run: ScenarioRun) -> None:
    """A tool of kind cli without a rule of allow."""
    refuse(run, "printing", {"text": "x"})


@scenario
def denied_in_restrict(run: ScenarioRun) -> None:
    """A bounded tool in the mode that wants a rule for everything, and the call that has one."""
    toolbox = refuse(run, "echo", WORD, mode="restrict", allow=["echo(word=allowed)"])
    run.call(toolbox, "echo", {"word": "allowed"})


@scenario
def denied_by_capability(run: ScenarioRun) -> None:
    """An action that touches what is closed, and one that does not."""
    (run.workspace / "a.txt").write_text("content")
    write = {"path": "a.txt", "action": "write", "content": "x"}
    toolbox = refuse(run, "files", write, capabilities={"allow": ["fs:read"]})
    run.call(toolbox, "files", {"path": "a.txt"})


@scenario
def denied_by_safety(run: ScenarioRun) -> None:
    """A tool above the highest level."""
    refuse(run, "files", {"path": "a.txt"}, capabilities={"max_safety": "low"})


@scenario
def denied_by_availability(run: ScenarioRun) -> None:
    """A tool that some callers do not have."""
    entry = {"for": {"agent": "guest"}, "deny": ["echo"]}
    toolbox = run.open("echo", "body", availability=[entry])
    guest = toolbox.for_caller(Caller("guest"))
    run.note("listed", [sorted(toolbox), sorted(guest)])
    run.call(guest, "echo", WORD)
    run.call(toolbox, "echo", WORD)
    run.decide(guest, "echo", WORD)
    run.explain("echo", WORD, "--caller", "agent=guest")


@scenario
def denied_by_a_ceiling(run: ScenarioRun) -> None:
    """The workspace's own file tightens: a rule, and a mode."""
    folder = run.workspace / ".toolcharter"
    folder.mkdir()
    (folder / "policy.yaml").write_text('deny:\n  - {rule: "echo(word=bad)", reason: not_here}\nmode: restrict\n')
    toolbox = refuse(run, "echo", {"word": "bad"}, allow=["echo"])
    run.call(toolbox, "echo", WORD)


@scenario
def denied_by_the_mode_of_a_ceiling(run: ScenarioRun) -> None:
    """What no rule of allow covers is denied where the workspace wants one."""
    folder = run.workspace / ".toolcharter"
    folder.mkdir()
    (folder / "policy.yaml").write_text("mode: restrict\n")
    refuse(run, "echo", WORD)


@scenario
def denied_by_the_limit_of_a_ceiling(run: ScenarioRun) -> None:
    """The smallest number of calls holds."""
    folder = run.workspace / ".toolcharter"
    folder.mkdir()
    (folder / "policy.yaml").write_text("limits: {calls_per_session: 1}\n")
    toolbox = run.open("echo", limits={"calls_per_session": 3})
    for _ in range(2):
        run.call(toolbox, "echo", WORD)


@scenario
def protected_path(run: ScenarioRun) -> None:
    """A hidden file, and the ceilings' own."""
    (run.workspace / ".env").write_text("KEY=1")
    toolbox = refuse(run, "files", {"path": ".env"})
    run.call(toolbox, "files", {"path": ".toolcharter/policy.yaml", "action": "write", "content": "{}"})


@scenario
def path_outside(run: ScenarioRun) -> None:
    """A path that leaves the workspace, by its letters and by a link."""
    (run.folder / "secret").write_text("x")
    (run.workspace / "link").symlink_to(run.folder / "secret")
    toolbox = refuse(run, "files", {"path": "../secret"})
    run.call(toolbox, "files", {"path": "link"})
    run.call(toolbox, "files", {"path": "absent"})


@scenario
def files_read_and_written(run: ScenarioRun) -> None:
    """What is in the workspace."""
    toolbox = run.open("files")
    for action in ("write", "read"):
        run.call(toolbox, "files", {"path": "sub/../a.txt", "action": action, "content": "text"})
    run.explain("files", {"path": "a.txt"})


@scenario
def commands_allowed(run: ScenarioRun) -> None:
    """A line whose commands are covered; one that is not in part; one that names nothing."""
    (run.workspace / "a.txt").write_text("x")
    toolbox = run.open("command", allow=["bash:cat *", "bash:wc *"])
    for line in ("cat a.txt | wc -l", "cat a.txt && ls", "cat a.txt > b.txt"):
        run.call(toolbox, "command", {"line": line})
        run.explain("command", {"line": line})


@scenario
def commands_not_understood(run: ScenarioRun) -> None:
    """A line that cannot be read with certainty."""
    refuse(run, "command", {"line": "eval $(cat a.txt)"}, allow=["bash:*"])


@scenario
def commands_confined(run: ScenarioRun) -> None:
    """A covered command that a link leads out of the workspace, in the same words before and after."""
    toolbox = run.open("command", allow=["bash:cat *"])
    (run.workspace / "link").write_text("x")
    run.call(toolbox, "command", {"line": "cat link"})
    (run.workspace / "link").unlink()
    (run.workspace / "link").symlink_to("/etc/passwd")
    run.call(toolbox, "command", {"line": "cat link"})
    run.decide(toolbox, "command", {"line": "cat link"})


@scenario
def commands_in_mode_dangerous(run: ScenarioRun) -> None:
    """What runs without a rule, and a rule of deny that still holds."""
    toolbox = run.open("command", mode="dangerous", deny=["bash:curl *"])
    for line in ("make all", "curl http://example.invalid"):
        run.call(toolbox, "command", {"line": line})


@scenario
def denied_by_the_tool(run: ScenarioRun) -> None:
    """A staged body's own check, with hint and fields."""
    refuse(run, "echo", {"word": "bad"}, tools={"echo": {"refused": ["bad"]}})


@scenario
def denied_by_the_body(run: ScenarioRun) -> None:
    """A body that is not staged raises a denial; a dry run does not enter it."""
    refuse(run, "body", {"how": "denied"})


@scenario
def errors_of_the_tool(run: ScenarioRun) -> None:
    """Raised, recorded, unexpected, and one that would end the process."""
    toolbox = run.open("body")
    for how in ("tool error", "recorded error", "exception", "system exit"):
        run.call(toolbox, "body", {"how": how})


@scenario
def faults_of_the_tool(run: ScenarioRun) -> None:
    """What a body does after its end."""
    toolbox = run.open("body")
    for how in ("after the end", "twice"):
        run.call(toolbox, "body", {"how": how})


@scenario
def dry_run_acts_too_early(run: ScenarioRun) -> None:
    """A staged body that acts before its mark: refused in a dry run and in a call."""
    toolbox = run.open("early", runner="host")
    run.decide(toolbox, "early", {})
    run.call(toolbox, "early", {})
    run.explain("early", {})


@scenario
def programs(run: ScenarioRun) -> None:
    """A program that ends well, one that does not, and none without a runner."""
    toolbox = run.open("body", runner="host")
    for how in ("true", "false"):
        run.call(toolbox, "body", {"how": how})


@scenario
def scrubbed(run: ScenarioRun) -> None:
    """Secrets in arguments, text, data and fields."""
    toolbox = run.open("body", "echo")
    run.call(toolbox, "body", {"how": "secrets"})
    run.call(toolbox, "echo", {"word": f"the key is {SECRET}"})


@scenario
def truncated(run: ScenarioRun) -> None:
    """A long text, cut at its head, its tail and both."""
    for part in ("head", "tail", "both"):
        toolbox = run.open("body", limits={"max_output_chars": 80, "truncate": part})
        run.call(toolbox, "body", {"how": "long"})


@scenario
def event_details(run: ScenarioRun) -> None:
    """Arguments in full and cut, as shapes, and not at all."""
    for detail in ("full", "shape", "none"):
        toolbox = run.open("echo", events_={"args": detail})
        run.call(toolbox, "echo", {"word": "long " * 100})


@scenario
def children(run: ScenarioRun) -> None:
    """Calls below a call: ok, denied, refused by its tool, unknown, opened by hand, not ended, and two deep."""
    tools = {"parent": {}, "echo": {"refused": ["bad"]}, "files": {}}
    toolbox = run.open(tools=tools, deny=["echo(word=secret)"])
    for tool, word in [("echo", "hi"), ("echo", "secret"), ("echo", "bad"), ("nope", "x"), ("start", "x")]:
        run.call(toolbox, "parent", {"tool": tool, "word": word})
    for tool in ("unended", "parent"):
        run.call(toolbox, "parent", {"tool": tool})


@scenario
def nested_too_deep(run: ScenarioRun) -> None:
    """A tool that calls itself without end; its first events alone are shown."""
    run.kept_events = 4
    toolbox = run.open("forever")
    run.call(toolbox, "forever", {})


@scenario
def rate_limits(run: ScenarioRun) -> None:
    """A call counts when it enters its tool; what is refused before does not."""
    toolbox = run.open("echo", deny=["echo(word=bad)"], limits={"calls_per_session": 2})
    for word in ("hi", "bad", "hi", "hi"):
        run.call(toolbox, "echo", {"word": word})
    run.decide(toolbox, "echo", WORD)


@scenario
def rate_limits_by_the_minute(run: ScenarioRun) -> None:
    """A limit that time lifts: the refusal may be tried again."""
    toolbox = run.open("echo", "body", limits={"tools": {"echo": {"calls_per_hour": 1}}})
    run.masks_waits = True
    for _ in range(2):
        run.call(toolbox, "echo", WORD)
    run.call(toolbox, "body", {"how": "text"})


@scenario
def session_guards(run: ScenarioRun) -> None:
    """Repeated calls, calls that need another, messages behind a result."""
    guards = {
        "repeated_calls": {"warn": 2, "deny": 3},
        "depends_on": [{"match": "files:write", "needs": "files:read", "message": "Read first."}],
        "after_call": [{"match": "files:write", "message": "Tell somebody."}],
    }
    (run.workspace / "a.txt").write_text("x")
    toolbox = run.open("echo", "files", session_guards=guards)
    for _ in range(4):
        run.call(toolbox, "echo", WORD)
    write = {"path": "a.txt", "action": "write", "content": "y"}
    for args in (write, {"path": "a.txt"}, write):
        run.call(toolbox, "files", args)
    run.decide(toolbox, "echo", WORD)


@scenario
def session_guards_on_results(run: ScenarioRun) -> None:
    """The same result again and again, and calls that need not be made twice."""
    guards = {"same_result": {"warn": 2, "deny": 3}, "skip_duplicate": [{"match": "echo", "args": ["word"]}]}
    toolbox = run.open("echo", "body", session_guards=guards, caller=Caller(session="s"))
    for how in ("text", "text", "text"):
        run.call(toolbox, "body", {"how": how})
    for _ in range(2):
        run.call(toolbox, "echo", WORD)
    toolbox.forget_results()
    run.call(toolbox, "echo", WORD)


@scenario
def read_before_write(run: ScenarioRun) -> None:
    """A file that was not read is not written."""
    (run.workspace / "a.txt").write_text("x")
    guard = {"mode": "strict", "reads": ["echo"], "writes": ["files"]}
    toolbox = run.open("files", "echo", session_guards={"read_before_write": guard})
    run.call(toolbox, "files", {"path": "a.txt", "action": "write", "content": "y"})
    run.call(toolbox, "files", {"path": "new.txt", "action": "write", "content": "y"})
