"""`toolcharter explain`: explains stage by stage how a call would be decided, and why."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from toolcharter.cli import options
from toolcharter.cli.call_arguments import CallArguments
from toolcharter.cli.output import Branch, encode_json, print_json, print_tree
from toolcharter.cli.session import toolbox_session

if TYPE_CHECKING:
    from toolcharter.api.call import Caller, Decision
    from toolcharter.api.explanation import CommandNote, Explanation, Step

_STYLES = {"allow": "green", "pass": "green", "ask": "yellow", "deny": "red", "error": "red", "unknown": "dim"}
_UNKNOWN = "not asked"


@click.command("explain")
@click.argument("tool")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@options.profile
@click.option("--args", "text", metavar="JSON", help="Arguments as a JSON object; '-' reads it from standard input.")
@options.json_output
@options.caller
@options.workspace_and_events
def command(
    tool: str,
    words: Sequence[str],
    profile: str,
    text: str | None,
    as_json: bool,
    caller: "Caller | None",
    workspace: str,
    events: Sequence[str],
) -> None:
    """Explain how a call of TOOL would be decided, stage by stage; run nothing.

    Each stage shows its input and its verdict, the deciding rule and its place, other rules that
    matched, and what would have to change. Arguments are given as for 'call'. Exit status 0 for
    every outcome.
    """
    call_arguments = CallArguments(tool, words, text, profile, workspace)
    with toolbox_session(profile, workspace, events, caller) as toolbox:
        explanation = toolbox.explain(tool, call_arguments.args(toolbox))
    if as_json:
        print_json(explanation.plain())
    else:
        print_tree(_tree(explanation))


def _tree(explanation: "Explanation") -> Branch:
    decision = explanation.decision
    reason = "" if decision.reason is None else f", {decision.reason}"
    call = " ".join(filter(None, (explanation.tool, explanation.action)))
    title = f"{call}: {decision.outcome} at stage {decision.stage}{reason}"
    return Branch(
        title, f"bold {_STYLES[decision.outcome]}", (*_fact_branches(explanation), *_stage_branches(explanation))
    )


def _fact_branches(explanation: "Explanation") -> Iterator[Branch]:
    yield Branch(f"profile: {explanation.profile}, digest {explanation.profile_digest}")
    yield Branch(f"arguments: {encode_json(explanation.args).decode()}")
    yield from map(_command_branch, explanation.parse)
    if explanation.hidden is not None:
        yield Branch(f"not listed for this caller: {_format_reason(explanation.hidden)}", "yellow")


def _command_branch(note: "CommandNote") -> Branch:
    inside = f" (in {', '.join(note.within)})" if note.within else ""
    details = [Branch(f"no star in a rule covers this: {need}") for need in note.needs]
    details += [Branch(f"has to lie in the workspace: {', '.join(note.confined)}")] if note.confined else []
    details += [] if note.is_known else [Branch("this program is unknown: a rule has to mention each of its options")]
    text = f"command: {note.form}{inside}: {note.said}" + ("; this decides" if note.decides else "")
    return Branch(text, "bold" if note.decides else "", tuple(details))


def _stage_branches(explanation: "Explanation") -> Iterator[Branch]:
    has_ended = False
    for step in explanation.steps:
        yield _stage_branch(step, explanation.decision, has_ended=has_ended)
        has_ended = has_ended or step.decides


def _stage_branch(step: "Step", decision: "Decision", *, has_ended: bool) -> Branch:
    said = _UNKNOWN if step.verdict == "unknown" else f"would {step.verdict}" if has_ended else step.verdict
    text = f"{step.stage}: {said}" + ("; this decides" if step.decides else "")
    style = f"bold {_STYLES[step.verdict]}" if step.decides else "dim" if has_ended else _STYLES[step.verdict]
    return Branch(text, style, tuple(_detail_branches(step, decision.hint if step.decides else None)))


def _detail_branches(step: "Step", hint: str | None) -> Iterator[Branch]:
    yield Branch(f"looked at: {step.looked_at}", "dim")
    if step.decision is not None and step.decision.reason is not None:
        yield Branch(f"said: {_format_reason(step.decision)}")
    if hint is not None:
        yield Branch(f"hint: {hint}")
    for rule in step.rules:
        fate = "decides" if rule.decides else "does not decide"
        condition = "" if rule.when is None else f" when {encode_json(rule.when).decode()}"
        yield Branch(
            f"rule: {rule.text}{condition}  {rule.source}: {rule.said}; {fate}", "bold" if rule.decides else ""
        )
    if step.decides or step.verdict not in {"pass", "allow"}:
        for change in step.changes:
            yield Branch(f"to change it: {change}", "cyan")


def _format_reason(decision: "Decision") -> str:
    return f"{decision.reason}: {decision.message}" if decision.message else str(decision.reason)
