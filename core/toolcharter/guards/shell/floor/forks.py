"""Fork bombs: functions, loops and scripts that start themselves repeatedly, at least twice at a time."""

from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.data_sources import SHELLS, input_texts
from toolcharter.guards.shell.floor.deletes import operands
from toolcharter.guards.shell.nodes import ENDLESS_LOOP, Command, Word

WHY = "is a fork bomb"
_ENDLESS = frozenset({"true", ":", "/bin/true", "/usr/bin/true", "false"})  # `until false`
_WAITING_PROGRAMS = frozenset(
    {"sleep", "wait", "read", "inotifywait", "usleep", "break", "exit", "return", "timeout", "xargs"}
)
_STARTERS = SHELLS | {"source", ".", "exec", "nohup", "setsid"}
_CONSTANT_TESTS = frozenset({"1", "1 -eq 1", "1 = 1", "1 == 1", "true", "1 '==' 1"})
_TOO_MANY = 10_000


def check_functions(context: Context) -> str | None:
    """Functions that call themselves, even through others, in the background or in a pipeline."""
    names = frozenset(context.script.functions)
    calls: dict[str, set[str]] = {}
    doubling: set[str] = set()
    for at, command in enumerate(context.script.commands):
        program = _program_name(command)
        owners = [one.removeprefix("function ") for one in command.within if one.startswith("function ")]
        if program not in names or not owners:
            continue
        for owner in owners:
            calls.setdefault(owner, set()).add(program)
        if _runs_in_parallel(command, at, context):
            doubling.update(owners)
    return WHY if any(_calls_itself(owner, calls) for owner in doubling) else None


def _program_name(command: Command) -> str:
    return (command.words[0].text or command.words[0].form) if command.words else ""


def _runs_in_parallel(command: Command, at: int, context: Context) -> bool:
    inside = command.within[max(i for i, one in enumerate(command.within) if one.startswith("function ")) :]
    if "background" in inside or command.stdin_from:
        return True
    return any(at in other.stdin_from for other in context.script.commands)


def _calls_itself(start: str, calls: dict[str, set[str]]) -> bool:
    """Whether a function is called, directly or not, by a function that it calls."""
    waiting = [start]
    seen: set[str] = set()
    while waiting:
        for name in calls.get(waiting.pop(), ()):
            if name == start:
                return True
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return False


def check_loops(context: Context) -> str | None:
    """`while :; do sh & done`: an endless loop that starts programs without waiting for them."""
    looped = [command for command in context.script.commands if "loop" in command.within]
    started = [command for command in looped if _is_not_awaited(command)]
    # What waits beside the loop holds nothing up.
    names = {_program_name(command) for command in looped if not _is_not_awaited(command)}
    if not started or names & _WAITING_PROGRAMS:
        return None
    is_endless = (
        bool(names & _ENDLESS) or _has_constant_test(looped) or any(ENDLESS_LOOP in one.within for one in started)
    )
    return (
        WHY
        if is_endless or any(_starts_itself(command) or _program_name(command) in SHELLS for command in started)
        else None
    )


def _is_not_awaited(command: Command) -> bool:
    """Whether a loop does not wait for *command*. A loop that itself runs in the background does not count."""
    loop = len(command.within) - 1 - command.within[::-1].index("loop")
    return "background" in command.within[loop:]


def _has_constant_test(commands: list[Command]) -> bool:
    return any(
        _program_name(one) in {"[", "[[", "test"} and one.form.strip("[] ").removeprefix("test ") in _CONSTANT_TESTS
        for one in commands
    )


def check_self_start(context: Context) -> str | None:
    """`$0 | $0 &`, `./$0&`, `%0|%0`: a script that starts a second copy of itself."""
    found = [command for command in context.script.commands if _starts_itself(command)]
    if len(found) > 1 or any("background" in one.within or one.stdin_from for one in found):
        return WHY
    return None


def _starts_itself(command: Command) -> bool:
    words = command.words
    if not words:
        return False
    is_shell = (words[0].text or "").rpartition("/")[2] in _STARTERS
    return _is_own_path(words[0]) or (is_shell and len(words) > 1 and _is_own_path(words[1]))


def _is_own_path(word: Word) -> bool:
    return word.text == "%0" or (
        word.text is None and any(mark in word.form for mark in ("$0", "${0}", "$BASH_SOURCE", "${BASH_SOURCE"))
    )


def check_parallel_runs(call: Call, context: Context) -> str | None:
    """`xargs -P 0` over an endless or very long input."""
    if not _is_unbounded(call):
        return None
    for feeder in context.feeders(call):
        if feeder.name == "yes" or any(arg.text in {"/dev/zero", "/dev/urandom", "/dev/random"} for arg in feeder.args):
            return WHY
        if feeder.name in {"seq", "jot"} and any(_is_too_many(arg.text) for arg in operands(feeder.args)):
            return WHY
        if feeder.name in {"echo", "printf"} and any(_is_long_range(word) for word in feeder.command.words):
            return WHY
    return WHY if any(text.count("\n") > _TOO_MANY for text in input_texts(call, context)) else None


def _is_unbounded(call: Call) -> bool:
    texts = call.texts
    for at, text in enumerate(texts):
        value = text.lstrip("-").removeprefix("max-procs").removeprefix("jobs").lstrip("Pj=")
        if text.startswith(("-P", "--max-procs", "-j", "--jobs")) and (value or "".join(texts[at + 1 : at + 2])) in {
            *("0", "00", "1000", "10000", "100000", "999", "9999"),
        }:
            return True
    return False


def _is_too_many(text: str) -> bool:
    return text.isdigit() and (len(text) > len(str(_TOO_MANY)) or int(text) >= _TOO_MANY)


def _is_long_range(word: Word) -> bool:
    _start, dots, end = word.form.strip("{}").partition("..")
    return bool(dots) and _is_too_many(end)
