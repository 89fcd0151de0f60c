"""The golden calls through policy: names, arguments, rules, modes, ceilings, paths, commands, what a body does."""

from collections.abc import Mapping
from typing import Any

from toolcharter import Caller, Toolbox

from .plugin import RAN, SECRET
from .stage import Stage, scenario

WORD = {"word": "hi"}


def refuse(stage: Stage, tool: str, args: Mapping[str, Any], **settings: Any) -> Toolbox:
    """One call of one tool, decided, explained and made, and what has run."""
    toolbox = stage.open(tool, **settings)
    stage.decide(toolbox, tool, args)
    stage.explain(tool, args)
    stage.call(toolbox, tool, args)
    stage.note("ran", RAN)
    return toolbox


@scenario
def ok_staged(stage: Stage) -> None:
    """A staged tool, by its name, by its alias, by another name of an argument; with all facts of a caller."""
    caller = Caller("reviewer-1", "aws", "dev", "s-7", "ann", "shop", 1)
    toolbox = stage.open("echo", caller=caller)
    stage.shows_frames = True
    spellings: list[tuple[str, dict[str, str | None]]] = [
        ("echo", {"word": "hi"}),
        ("SAY", {"text": "alias"}),
        ("echo", {"word": None, "action": " Wave "}),
    ]
    for tool, args in spellings:
        stage.call(toolbox, tool, args)
    stage.decide(toolbox, "echo", WORD)
    stage.explain("echo", WORD, "--caller", "agent=reviewer-1")


@scenario
def ok_with_ids_of_a_host(stage: Stage) -> None:
    """Identifiers that the host brings, whole, cut and made anew."""
    toolbox = stage.open("echo")
    for call_id, parent_id in [("host-1", "host-0"), ("x" * 300, None), ("", "")]:
        stage.call(toolbox, "echo", WORD, call_id=call_id, parent_id=parent_id)


@scenario
def ok_plain_returns(stage: Stage) -> None:
    """What a body may return without a context."""
    toolbox = stage.open("body")
    for how in ("text", "nothing", "object", "all fields"):
        stage.call(toolbox, "body", {"how": how})
    stage.explain("body", {"how": "text"})


@scenario
def ok_printed_json(stage: Stage) -> None:
    """A tool of kind cli, whose text becomes data where it is JSON."""
    toolbox = stage.open("printing", allow=["printing"])
    for text in ('{"a": [1, 2]}', "no json"):
        stage.call(toolbox, "printing", {"text": text})


@scenario
def remembered_decision(stage: Stage) -> None:
    """The same call again, whose decision is remembered, and another."""
    toolbox = stage.open("echo", deny=["echo(word=bad)"])
    for word in ("hi", "hi", "bad", "bad"):
        stage.call(toolbox, "echo", {"word": word})


@scenario
def unknown_tool(stage: Stage) -> None:
    """Names that the profile does not have."""
    toolbox = stage.open("echo")
    for tool in ("eco", "nothing_like_it", ""):
        stage.call(toolbox, tool, WORD)
    stage.decide(toolbox, "eco", WORD)
    stage.explain("eco", WORD)


@scenario
def invalid_arguments(stage: Stage) -> None:
    """Unknown, missing, of a wrong type, given twice, and no mapping."""
    toolbox = stage.open("echo", "body")
    for args in ({"wrod": "x"}, {"word": 7}, {"word": "a", "text": "b"}):
        stage.call(toolbox, "echo", args)
        stage.explain("echo", args)
    stage.call(toolbox, "body", {})
    stage.decide(toolbox, "body", {})
    stage.call(toolbox, "body", [1])  # type: ignore[arg-type]


@scenario
def denied_by_floor(stage: Stage) -> None:
    """A command that nobody can permit."""
    refuse(stage, "command", {"line": "rm -rf /"}, allow=["bash:*"], mode="dangerous")


@scenario
def denied_by_rule(stage: Stage) -> None:
    """A rule of deny."""
    refuse(stage, "echo", WORD, deny=["echo(word=h*)"])


@scenario
def denied_by_rule_with_a_reason(stage: Stage) -> None:
    """A long rule with a condition, a reason and a message; and a call that its condition does not hold for."""
    rule = {
        "rule": "echo",
        "when": {"word": {"type": "string", "minLength": 2}},
        "reason": "long",
        "message": "Shorter.",
    }
    toolbox = refuse(stage, "echo", WORD, deny=[rule])
    stage.call(toolbox, "echo", {"word": "h"})


@scenario
def denied_not_in_allow(stage: Stage) -> None:
    """A tool of kind cli without a rule of allow."""
    refuse(stage, "printing", {"text": "x"})


@scenario
def denied_in_restrict(stage: Stage) -> None:
    """A bounded tool in the mode that wants a rule for everything, and the call that has one."""
    toolbox = refuse(stage, "echo", WORD, mode="restrict", allow=["echo(word=allowed)"])
    stage.call(toolbox, "echo", {"word": "allowed"})


@scenario
def denied_by_capability(stage: Stage) -> None:
    """An action that touches what is closed, and one that does not."""
    (stage.workspace / "a.txt").write_text("content")
    write = {"path": "a.txt", "action": "write", "content": "x"}
    toolbox = refuse(stage, "files", write, capabilities={"allow": ["fs:read"]})
    stage.call(toolbox, "files", {"path": "a.txt"})


@scenario
def denied_by_safety(stage: Stage) -> None:
    """A tool above the highest level."""
    refuse(stage, "files", {"path": "a.txt"}, capabilities={"max_safety": "low"})


@scenario
def denied_by_availability(stage: Stage) -> None:
    """A tool that some callers do not have."""
    entry = {"for": {"agent": "guest"}, "deny": ["echo"]}
    toolbox = stage.open("echo", "body", availability=[entry])
    guest = toolbox.for_caller(Caller("guest"))
    stage.note("listed", [sorted(toolbox), sorted(guest)])
    stage.call(guest, "echo", WORD)
    stage.call(toolbox, "echo", WORD)
    stage.decide(guest, "echo", WORD)
    stage.explain("echo", WORD, "--caller", "agent=guest")


@scenario
def denied_by_a_ceiling(stage: Stage) -> None:
    """The workspace's own file tightens: a rule, and a mode."""
    folder = stage.workspace / ".toolcharter"
    folder.mkdir()
    (folder / "policy.yaml").write_text('deny:\n  - {rule: "echo(word=bad)", reason: not_here}\nmode: restrict\n')
    toolbox = refuse(stage, "echo", {"word": "bad"}, allow=["echo"])
    stage.call(toolbox, "echo", WORD)


@scenario
def denied_by_the_mode_of_a_ceiling(stage: Stage) -> None:
    """What no rule of allow covers is denied where the workspace wants one."""
    folder = stage.workspace / ".toolcharter"
    folder.mkdir()
    (folder / "policy.yaml").write_text("mode: restrict\n")
    refuse(stage, "echo", WORD)


@scenario
def denied_by_the_limit_of_a_ceiling(stage: Stage) -> None:
    """The smallest number of calls holds."""
    folder = stage.workspace / ".toolcharter"
    folder.mkdir()
    (folder / "policy.yaml").write_text("limits: {calls_per_session: 1}\n")
    toolbox = stage.open("echo", limits={"calls_per_session": 3})
    for _ in range(2):
        stage.call(toolbox, "echo", WORD)


@scenario
def protected_path(stage: Stage) -> None:
    """A hidden file, and the ceilings' own."""
    (stage.workspace / ".env").write_text("KEY=1")
    toolbox = refuse(stage, "files", {"path": ".env"})
    stage.call(toolbox, "files", {"path": ".toolcharter/policy.yaml", "action": "write", "content": "{}"})


@scenario
def path_outside(stage: Stage) -> None:
    """A path that leaves the workspace, by its letters and by a link."""
    (stage.folder / "secret").write_text("x")
    (stage.workspace / "link").symlink_to(stage.folder / "secret")
    toolbox = refuse(stage, "files", {"path": "../secret"})
    stage.call(toolbox, "files", {"path": "link"})
    stage.call(toolbox, "files", {"path": "absent"})


@scenario
def files_read_and_written(stage: Stage) -> None:
    """What is in the workspace."""
    toolbox = stage.open("files")
    for action in ("write", "read"):
        stage.call(toolbox, "files", {"path": "sub/../a.txt", "action": action, "content": "text"})
    stage.explain("files", {"path": "a.txt"})


@scenario
def commands_allowed(stage: Stage) -> None:
    """A line whose commands are covered; one that is not in part; one that names nothing."""
    (stage.workspace / "a.txt").write_text("x")
    toolbox = stage.open("command", allow=["bash:cat *", "bash:wc *"])
    for line in ("cat a.txt | wc -l", "cat a.txt && ls", "cat a.txt > b.txt"):
        stage.call(toolbox, "command", {"line": line})
        stage.explain("command", {"line": line})


@scenario
def commands_not_understood(stage: Stage) -> None:
    """A line that cannot be read with certainty."""
    refuse(stage, "command", {"line": "eval $(cat a.txt)"}, allow=["bash:*"])


@scenario
def commands_confined(stage: Stage) -> None:
    """A covered command that a link leads out of the workspace, in the same words before and after."""
    toolbox = stage.open("command", allow=["bash:cat *"])
    (stage.workspace / "link").write_text("x")
    stage.call(toolbox, "command", {"line": "cat link"})
    (stage.workspace / "link").unlink()
    (stage.workspace / "link").symlink_to("/etc/passwd")
    stage.call(toolbox, "command", {"line": "cat link"})
    stage.decide(toolbox, "command", {"line": "cat link"})


@scenario
def commands_in_mode_dangerous(stage: Stage) -> None:
    """What runs without a rule, and a rule of deny that still holds."""
    toolbox = stage.open("command", mode="dangerous", deny=["bash:curl *"])
    for line in ("make all", "curl http://example.invalid"):
        stage.call(toolbox, "command", {"line": line})


@scenario
def denied_by_the_tool(stage: Stage) -> None:
    """A staged body's own check, with hint and fields."""
    refuse(stage, "echo", {"word": "bad"}, tools={"echo": {"refused": ["bad"]}})


@scenario
def denied_by_the_body(stage: Stage) -> None:
    """A body that is not staged raises a denial; a dry run does not enter it."""
    refuse(stage, "body", {"how": "denied"})


@scenario
def errors_of_the_tool(stage: Stage) -> None:
    """Raised, recorded, unexpected, and one that would end the process."""
    toolbox = stage.open("body")
    for how in ("tool error", "recorded error", "exception", "system exit"):
        stage.call(toolbox, "body", {"how": how})


@scenario
def faults_of_the_tool(stage: Stage) -> None:
    """What a body does after its end."""
    toolbox = stage.open("body")
    for how in ("after the end", "twice"):
        stage.call(toolbox, "body", {"how": how})


@scenario
def dry_run_acts_too_early(stage: Stage) -> None:
    """A staged body that acts before its mark: refused in a dry run and in a call."""
    toolbox = stage.open("early", runner="host")
    stage.decide(toolbox, "early", {})
    stage.call(toolbox, "early", {})
    stage.explain("early", {})


@scenario
def programs(stage: Stage) -> None:
    """A program that ends well, one that does not, and none without a runner."""
    toolbox = stage.open("body", runner="host")
    for how in ("true", "false"):
        stage.call(toolbox, "body", {"how": how})


@scenario
def scrubbed(stage: Stage) -> None:
    """Secrets in arguments, text, data and fields."""
    toolbox = stage.open("body", "echo")
    stage.call(toolbox, "body", {"how": "secrets"})
    stage.call(toolbox, "echo", {"word": f"the key is {SECRET}"})


@scenario
def truncated(stage: Stage) -> None:
    """A long text, cut at its head, its tail and both."""
    for part in ("head", "tail", "both"):
        toolbox = stage.open("body", limits={"max_output_chars": 80, "truncate": part})
        stage.call(toolbox, "body", {"how": "long"})


@scenario
def event_details(stage: Stage) -> None:
    """Arguments in full and cut, as shapes, and not at all."""
    for detail in ("full", "shape", "none"):
        toolbox = stage.open("echo", events_={"args": detail})
        stage.call(toolbox, "echo", {"word": "long " * 100})


@scenario
def children(stage: Stage) -> None:
    """Calls below a call: ok, denied, refused by its tool, unknown, opened by hand, not ended, and two deep."""
    tools = {"parent": {}, "echo": {"refused": ["bad"]}, "files": {}}
    toolbox = stage.open(tools=tools, deny=["echo(word=secret)"])
    for tool, word in [("echo", "hi"), ("echo", "secret"), ("echo", "bad"), ("nope", "x"), ("start", "x")]:
        stage.call(toolbox, "parent", {"tool": tool, "word": word})
    for tool in ("unended", "parent"):
        stage.call(toolbox, "parent", {"tool": tool})


@scenario
def nested_too_deep(stage: Stage) -> None:
    """A tool that calls itself without end; its first events alone are shown."""
    stage.kept_events = 4
    toolbox = stage.open("forever")
    stage.call(toolbox, "forever", {})


@scenario
def rate_limits(stage: Stage) -> None:
    """A call counts when it enters its tool; what is refused before does not."""
    toolbox = stage.open("echo", deny=["echo(word=bad)"], limits={"calls_per_session": 2})
    for word in ("hi", "bad", "hi", "hi"):
        stage.call(toolbox, "echo", {"word": word})
    stage.decide(toolbox, "echo", WORD)


@scenario
def rate_limits_by_the_minute(stage: Stage) -> None:
    """A limit that time lifts: the refusal may be tried again."""
    toolbox = stage.open("echo", "body", limits={"tools": {"echo": {"calls_per_hour": 1}}})
    stage.masks_waits = True
    for _ in range(2):
        stage.call(toolbox, "echo", WORD)
    stage.call(toolbox, "body", {"how": "text"})


@scenario
def session_guards(stage: Stage) -> None:
    """Repeated calls, calls that need another, messages behind a result."""
    guards = {
        "repeated_calls": {"warn": 2, "deny": 3},
        "depends_on": [{"match": "files:write", "needs": "files:read", "message": "Read first."}],
        "after_call": [{"match": "files:write", "message": "Tell somebody."}],
    }
    (stage.workspace / "a.txt").write_text("x")
    toolbox = stage.open("echo", "files", session_guards=guards)
    for _ in range(4):
        stage.call(toolbox, "echo", WORD)
    write = {"path": "a.txt", "action": "write", "content": "y"}
    for args in (write, {"path": "a.txt"}, write):
        stage.call(toolbox, "files", args)
    stage.decide(toolbox, "echo", WORD)


@scenario
def session_guards_on_results(stage: Stage) -> None:
    """The same result again and again, and calls that need not be made twice."""
    guards = {"same_result": {"warn": 2, "deny": 3}, "skip_duplicate": [{"match": "echo", "args": ["word"]}]}
    toolbox = stage.open("echo", "body", session_guards=guards, caller=Caller(session="s"))
    for how in ("text", "text", "text"):
        stage.call(toolbox, "body", {"how": how})
    for _ in range(2):
        stage.call(toolbox, "echo", WORD)
    toolbox.forget_results()
    stage.call(toolbox, "echo", WORD)


@scenario
def read_before_write(stage: Stage) -> None:
    """A file that was not read is not written."""
    (stage.workspace / "a.txt").write_text("x")
    guard = {"mode": "strict", "reads": ["echo"], "writes": ["files"]}
    toolbox = stage.open("files", "echo", session_guards={"read_before_write": guard})
    stage.call(toolbox, "files", {"path": "a.txt", "action": "write", "content": "y"})
    stage.call(toolbox, "files", {"path": "new.txt", "action": "write", "content": "y"})
