"""What a command's redirections ask for. Only the null device, the standard streams and input are ordinary."""

from typing import Final

from toolcharter.api.command import PathAccess
from toolcharter.guards.shell.collector import RequirementCollector
from toolcharter.guards.shell.nodes import Redirection, Word
from toolcharter.guards.shell.places import objection
from toolcharter.guards.shell.table import Role

_JOINS: Final = frozenset({">&", "<&"})
_OUT: Final = frozenset({"", "1", "2"})
_READ: Final = Role("read")


def ask(redirection: Redirection, asking: RequirementCollector) -> None:
    """Gather what *redirection* asks for."""
    operator = redirection.operator
    if operator in {"<<", "<<-", "<<<"}:
        if redirection.text is None or redirection.descriptor not in {"", "0"}:
            _need(redirection, asking, "feeds what cannot be told")
    elif operator == "<":
        _input(redirection, asking)
    elif not _is_ordinary(redirection):
        _need(redirection, asking, "is a redirection that writes or joins")
        if redirection.operator not in _JOINS or not _is_descriptor(redirection.target):
            _written(redirection.target, asking)


def _is_descriptor(target: Word | None) -> bool:
    return target is not None and target.text is not None and (target.text == "-" or target.text.rstrip("-").isdigit())


def _written(target: Word | None, asking: RequirementCollector) -> None:
    """Note the file, if it lies in the workspace by its letters: a rule may mention it, and it may be a protected one."""
    if (
        target is not None
        and target.text
        and target.text != "/dev/null"
        and not objection(target.text, asking.folders, asking.workspace)
    ):
        asking.reaches.append(PathAccess(target.text, folders=asking.folders, change="write"))


def _is_ordinary(redirection: Redirection) -> bool:
    """Whether the output goes to the null device or joins the other stream."""
    operator, target = redirection.operator, redirection.target
    text = None if target is None else target.text
    if operator == ">&" and text in {"1", "2"}:
        return redirection.descriptor in _OUT
    if operator in {"&>", "&>>", ">&"}:
        return text == "/dev/null" and not redirection.descriptor
    return operator in {">", ">>", ">|"} and text == "/dev/null" and redirection.descriptor in _OUT


def _input(redirection: Redirection, asking: RequirementCollector) -> None:
    target = redirection.target
    if target is None or redirection.descriptor not in {"", "0"} or (target.text is None and target.splits):
        _need(redirection, asking, "reads what cannot be told")
    elif target.text == "-":
        asking.path(Word(redirection.form, "./-", prefix="./-"))  # A file of that name: no shell reads it as its input.
    else:
        asking.value(_READ, target._replace(form=redirection.form))


def _need(redirection: Redirection, asking: RequirementCollector, why: str) -> None:
    asking.need(Word(redirection.form), why)
