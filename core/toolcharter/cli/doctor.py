"""Makes the checks of `doctor`: calls that must not pass, calls that must arrive, and sinks that must accept events.

No check changes anything. For the calls that must not pass, a stand-in replaces the body of every tool, so that even a
broken gate cannot let a tool act. A call that must arrive is a dry run, which runs the checks of a staged tool. A tool
that is not staged is called instead, and the call ends in a stand-in. Tools that only read files are called for real;
their programs run where the profile says.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple

from toolcharter.api.call import Caller, Decision, Stage
from toolcharter.api.extension import Sink
from toolcharter.api.job import Job
from toolcharter.api.reasons import Reason
from toolcharter.api.runner import RunnerScope
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import Denied, ToolError
from toolcharter.events.contract import AFTER, BEFORE, POLICY_BEFORE, POLICY_DENY
from toolcharter.events.sinks import CORE_SCHEMES, open_sink
from toolcharter.gate.build.inventory import build_inventory
from toolcharter.gate.build.open import Plan, open_toolbox, plan_profile
from toolcharter.gate.runners import Runners
from toolcharter.gate.toolbox import Toolbox
from toolcharter.guards.inventory import ImportFolder
from toolcharter.guards.process.governed import CLEAN_ENVIRONMENT
from toolcharter.guards.process.programs import PROGRAM_NOT_FOUND
from toolcharter.guards.secrets import scrub_text
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.interpreter import find_gate_code
from toolcharter.loader.load import LoadedPlugins
from toolcharter.loader.scan import find_installed
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import Capabilities, Ceiling, Rates, SessionGuards
from toolcharter.testing.samples import sample_arguments

Result = Literal["ok", "failed", "not tried", "note"]

DOCTOR = "doctor"
"""The source of the rule that denies everything."""
DENIED_CALL = (BEFORE, POLICY_BEFORE, POLICY_DENY, AFTER)
PASSED_CALL = (BEFORE, POLICY_BEFORE, AFTER)
_ENTERED = "entered"
_MAX_SAMPLES = 20
_HARMLESS = "true"
"""A program that does nothing in any runner."""
_RUN_S = 60
_READS_FILES = frozenset({"fs:read"})
_NO_ANSWER = frozenset({Reason.SANDBOX_UNAVAILABLE, Reason.UNEXPECTED_FAILURE, Reason.TIMED_OUT, PROGRAM_NOT_FOUND})


class Finding(NamedTuple):
    """One check and its result."""

    subject: str
    test: str
    result: Result
    detail: str


class CountingSink:
    """A sink that counts the lines its inner sink accepts and loses."""

    def __init__(self, url: str, inner: Sink) -> None:
        scheme = url.partition(":")[0]
        self.name = f"sink {url if scheme in CORE_SCHEMES else scheme + ':'}"  # Other URLs may hold a password.
        self.taken = self.lost = 0
        self.error: Exception | None = None
        self._inner = inner

    def write(self, lines: bytes) -> None:
        """See `Sink.write`."""
        count = lines.count(b"\n")
        try:
            self._inner.write(lines)
        except Exception as error:
            self.error = error
            self.lost += count
            raise
        self.taken += count

    def close(self) -> None:
        """See `Sink.close`."""
        try:
            self._inner.close()
        except Exception as error:
            self.error = error
            raise


def run_checks(profile: str, workspace: Path, caller: Caller | None, events: Sequence[str]) -> Iterator[Finding]:
    """Run all checks, tool by tool.

    Args:
        profile: Its name or path.
        workspace: Real path of the folder that tools may touch.
        caller: The caller of each call.
        events: URLs of the sinks that also take the doctor's events.

    Raises:
        ConfigurationError: The profile, the installation or the sinks have faults. It holds all of them; no check ran.
    """
    schemes = [url.partition(":")[0] for url in events if url.partition(":")[0] not in CORE_SCHEMES]
    # Planned again for each toolbox: an extension can be built only once for each set of loaded plugins.
    plan = partial(plan_profile, profile, workspace=workspace, schemes=schemes)
    loaded = plan().loaded
    loaded = loaded.build_extensions(workspace, plan().extensions)
    sinks = [CountingSink(url, open_sink(url, loaded.open_sink)) for url in events]
    try:
        yield from _note_facts(plan(), has_approver=loaded.approver is not None)
        code = find_gate_code(workspace, plan().index or find_installed())
        inventory = build_inventory(workspace, code, plan().files, (), os.environ)
        yield from map(_check_import_folders, inventory.importing)
        yield from _check_runner(plan(), loaded, RunnerScope(workspace, inventory.places))
        if not os.access(workspace, os.W_OK):
            yield Finding(
                "workspace", "takes new files", "note", "no: no file can be created or changed in this folder"
            )
        yield from _check_denials(plan(), workspace, caller, sinks)
        yield from _check_arrivals(plan(), workspace, caller)
        yield from map(_check_sink, sinks)
    finally:
        for close in loaded.closers:
            close()


def _note_facts(plan: Plan, *, has_approver: bool) -> Iterator[Finding]:
    """Yield facts that are not faults but that the operator should know."""
    for name in plan.extensions:
        yield Finding(f"extension {name}", "is built", "ok", "")
    for spec in plan.specs:
        if spec.capabilities is None:
            detail = "undeclared: it counts as touching everything, at the highest safety level"
            yield Finding(f"tool {spec.name}", "capabilities", "note", detail)
    if plan.may_ask:
        who = (
            "by an extension"
            if has_approver
            else "at the terminal or by the host; without either such calls are denied"
        )
        yield Finding("approvals", "who is asked", "note", who)


def _check_import_folders(folder: ImportFolder) -> Finding:
    """Report a folder that Python imports from before toolcharter's code runs, although programs may write there."""
    where = "/".join(folder.folder) or "."
    there = f"; installed modules are hidden there by {', '.join(map(repr, folder.taken))}" if folder.taken else ""
    detail = f"sys.path contains {where!r}: programs may write modules there{there}; start with python -P, or an installed command"
    return Finding("workspace", "is imported from", "note", detail)


def _check_runner(plan: Plan, loaded: LoadedPlugins, scope: RunnerScope) -> Iterator[Finding]:
    """Report whether the profile's runner runs a program that does nothing."""
    name = plan.profile.runner
    if name is None:
        return
    runners = Runners(name, loaded.runners.get(name), scope)
    try:
        runner = runners.runner_for(bounded=False)
        ended = runner.run(Job((_HARMLESS,), env=CLEAN_ENVIRONMENT, expires=monotonic() + _RUN_S, read_only=True))
        said: tuple[Result, str] = "ok", "runs it in a sandbox" if runner.is_sandbox else "runs it without a sandbox"
        if ended.timed_out or ended.exit_code:
            why = f"ended with {ended.exit_code}" if ended.exit_code and not ended.timed_out else "did not end in time"
            said = "failed", f"the program {_HARMLESS!r} {why}"
    except (Denied, ToolError) as error:
        said = "failed", f"{error.reason}: {error.message}"
    except Exception as error:  # noqa: BLE001 - a third-party runner may raise anything
        said = "failed", scrub_text(f"{type(error).__name__}: {error}")[0]
    finally:
        runners.close()
    yield Finding(f"runner {name}", "runs a program", *said)


def _check_denials(
    plan: Plan, workspace: Path, caller: Caller | None, sinks: Sequence[CountingSink]
) -> Iterator[Finding]:
    """Call each tool, and an unknown one, under a rule that denies everything."""
    entered, seen = list[str](), list[dict[str, Any]]()
    rule = parse_rule("*", DOCTOR)
    quiet = [ceiling._replace(notify=()) for ceiling in plan.ceilings]
    plan = _with_stand_ins(plan, entered)
    denying = replace(
        plan,
        profile=replace(plan.profile, notify=()),
        ceilings=(Ceiling(DOCTOR, deny=(rule,)), *quiet),
    )
    toolbox = open_toolbox(denying, workspace=workspace, caller=caller, sinks=[seen.append, *sinks])
    try:
        for name in (*plan.loaded.specs, ""):
            _call_until_past(toolbox, name, _samples(toolbox, name, plan.profile), seen, until_past={"arguments"})
            yield Finding(
                f"tool {name}" if name else "an unknown name",
                "a call that must not pass",
                *_judge_denial(
                    seen, passed=name in entered, expected=_is_denied_by_rule if name else _is_denied_by_name
                ),
            )
    finally:
        yield from _close_toolbox(toolbox)


def _call_until_past(
    toolbox: Toolbox,
    name: str,
    samples: Sequence[Mapping[str, Any]],
    seen: list[dict[str, Any]],
    *,
    until_past: Collection[Stage],
) -> None:
    """Call a tool until a sample gets past some stages. *seen* receives the events of the last call."""
    for args in samples:
        seen.clear()
        toolbox.call(name, args)
        if not seen or seen[-1].get("stage") not in until_past:
            return


def _judge_denial(
    seen: Sequence[Mapping[str, Any]], *, passed: bool, expected: Callable[[Mapping[str, Any]], bool]
) -> tuple[Result, str]:
    names = tuple(event["event"] for event in seen)
    if passed:
        return "failed", "the call reached the tool, although a rule denies it"
    if names == (BEFORE, AFTER) and seen[-1]["reason"] == Reason.INVALID_ARGUMENTS:
        return "ok", "invalid_arguments: no sample fits the tool's schema, so its arguments were refused"
    if names != DENIED_CALL:
        return "failed", f"the call wrote the events {', '.join(names) or 'none'}; expected: {', '.join(DENIED_CALL)}"
    last = seen[-1]
    said = f"{last['outcome']} at stage {last['stage']}: {last['reason']}"
    return ("ok", said) if expected(last) else ("failed", f"not for the expected reason: {said}")


def _is_denied_by_rule(after: Mapping[str, Any]) -> bool:
    return after["stage"] == "floor" or (after["rule"] or {}).get("source") == DOCTOR


def _is_denied_by_name(after: Mapping[str, Any]) -> bool:
    return bool(after["reason"] == Reason.UNKNOWN_TOOL)


def _with_stand_ins(plan: Plan, entered: list[str]) -> Plan:
    """Return *plan* with a stand-in for each tool's body, which does nothing except record the call in *entered*."""
    tools = plan.loaded.specs.items()
    specs = {name: tool._replace(spec=_stand_in_for(tool.spec, entered)) for name, tool in tools}
    return replace(plan, loaded=plan.loaded._replace(specs=specs))


def _stand_in_for(spec: ToolSpec[Any], entered: list[str]) -> ToolSpec[Any]:
    def build(workspace: Path, policy: Any, rt: Any) -> Any:
        body = spec.build(workspace, policy, rt)
        if not callable(body):
            return body  # The gate will refuse it.

        @wraps(body)
        def stand_in(*_: Any, **__: Any) -> Any:
            entered.append(spec.name)
            # Not `Denied`: its events would look like a denial by the gate.
            raise ToolError("A stand-in of the doctor was called.", reason=_ENTERED)

        return stand_in

    return replace(spec, build=build, isolate=False)  # In another process, it could not append to *entered*.


def _check_arrivals(plan: Plan, workspace: Path, caller: Caller | None) -> Iterator[Finding]:
    """Make dry runs that must arrive at each tool, and call the tools that only read; the policy permits everything."""
    permissive = replace(
        plan.profile,
        deny=(),
        mode="dangerous",
        capabilities=Capabilities(),
        availability=(),
        session_guards=SessionGuards(),
        notify=(),
        rates=Rates(),
    )
    open_plan = replace(plan, profile=permissive, ceilings=())
    toolbox = open_toolbox(open_plan, workspace=workspace, caller=caller, sinks=())
    try:
        for spec in plan.specs:
            found = _judge_arrival(_dry_run(toolbox, spec.name, _samples(toolbox, spec.name, plan.profile)))
            if spec.staged or found[0] == "failed":
                yield Finding(f"tool {spec.name}", "a dry run that must arrive", *found)
            if spec.capabilities == _READS_FILES:
                yield Finding(
                    f"tool {spec.name}", "a call that reads", *_call_reading_tool(toolbox, spec.name, plan.profile)
                )
    finally:
        yield from _close_toolbox(toolbox)
    yield from _check_entries(open_plan, workspace, caller)


def _call_reading_tool(toolbox: Toolbox, name: str, profile: Profile) -> tuple[Result, str]:
    """Call a tool that only reads files. The tool's own refusal, such as `path_not_found`, counts as an answer."""
    result = toolbox.call(name, _samples(toolbox, name, profile)[0])
    said = f"{result.outcome}, {result.reason}" if result.reason else result.outcome
    if result.reason in _NO_ANSWER:
        return "failed", f"{said}: {(result.message or '').partition(chr(10))[0]}"
    return "ok", f"answered: {said}"


def _check_entries(plan: Plan, workspace: Path, caller: Caller | None) -> Iterator[Finding]:
    """Call each tool that is not staged, with a stand-in for its body: a dry run would not enter it."""
    unstaged = [spec.name for spec in plan.specs if not spec.staged]
    if not unstaged:
        return
    entered, seen = list[str](), list[dict[str, Any]]()
    # No hooks at all: the dry run has already shown whether the plugins' checks work.
    unchecked = replace(plan, loaded=plan.loaded._replace(manager=new_manager(), extension_specs={}))
    toolbox = open_toolbox(_with_stand_ins(unchecked, entered), workspace=workspace, caller=caller, sinks=[seen.append])
    try:
        for name in unstaged:
            _call_until_past(
                toolbox, name, _samples(toolbox, name, plan.profile), seen, until_past={"arguments", "floor"}
            )
            yield Finding(f"tool {name}", "a call that must arrive", *_judge_entry(seen, entered.count(name)))
    finally:
        yield from _close_toolbox(toolbox)


def _judge_entry(seen: Sequence[Mapping[str, Any]], entries: int) -> tuple[Result, str]:
    names = tuple(event["event"] for event in seen)
    last = seen[-1] if seen else {}
    said = f"{last.get('outcome')} at stage {last.get('stage')}: {last.get('reason')}"
    if entries != 1 and last.get("stage") in {"arguments", "floor"}:
        return "not tried", f"no sample fits: {said}"
    if names != PASSED_CALL:
        return "failed", f"the call wrote the events {', '.join(names) or 'none'}; expected: {', '.join(PASSED_CALL)}"
    if entries != 1 or last["reason"] != _ENTERED:
        return "failed", f"the call entered the tool {entries} times, not once; it ended as {said}"
    return "ok", "reached: a stand-in was entered, once"


def _close_toolbox(toolbox: Toolbox) -> list[Finding]:
    """Close a toolbox; return the faults of tools that cannot close."""
    try:
        toolbox.close()
    except ExceptionGroup as group:
        said = (scrub_text(f"{type(error).__name__}: {error}")[0] for error in group.exceptions)
        return [Finding("toolbox", "closes", "failed", text) for text in said]
    return []


def _dry_run(toolbox: Toolbox, name: str, samples: Sequence[Mapping[str, Any]]) -> Decision:
    decision = toolbox.decide(name, samples[0])
    for args in samples[1:]:
        if decision.stage not in {"arguments", "floor"}:
            break
        decision = toolbox.decide(name, args)
    return decision


def _judge_arrival(decision: Decision) -> tuple[Result, str]:
    said = f"{decision.reason}: {(decision.message or '').partition(chr(10))[0]}".rstrip(": ")
    if decision.reason in {Reason.CHECK_FAILED, Reason.UNEXPECTED_FAILURE, Reason.TIMED_OUT}:
        return "failed", f"at stage {decision.stage}: {said}"
    if decision.tool_checks == "passed":
        return "ok", "reached: its own checks pass"
    if decision.stage == "tool":
        return "ok", f"reached: it answers {said}"
    return "not tried", f"the sample ends at stage {decision.stage}: {said}"


def _check_sink(sink: CountingSink) -> Finding:
    if sink.error is None:
        return Finding(sink.name, "takes every event", "ok" if sink.taken else "failed", f"{sink.taken} lines")
    said = scrub_text(f"{type(sink.error).__name__}: {sink.error}")[0]
    return Finding(
        sink.name, "takes every event", "failed", f"{sink.lost} of {sink.lost + sink.taken} lines lost: {said}"
    )


def _samples(toolbox: Toolbox, name: str, profile: Profile) -> list[Mapping[str, Any]]:
    """Return arguments to try: first those of the profile's own cases, then those that the tool's schema suggests."""
    if not name:
        return [{}]
    of_cases = [case.args for case in profile.cases if case.tool.lower() == name.lower()]
    return [*of_cases, *sample_arguments(toolbox[name].parameters), {}][:_MAX_SAMPLES]
