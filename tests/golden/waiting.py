"""The golden calls that wait, end early or end badly: checks, people, time, cancellation, sinks, closing; async code."""

import asyncio
import os
import signal
import threading
import time
from typing import Any

from .plugin import RAN, RELEASE, STARTED, Person, named
from .stage import Stage, scenario

WORD = {"word": "hi"}
WATCHED = {
    "no": "deny",
    "raised no": "denied",
    "broken": "raise",
    "wrong": "wrong",
    "later": "later allow",
    "later no": "later deny",
    "later broken": "later raise",
    "never": "later never",
    "question": "ask",
}
SHORT = 0.3
"""Seconds after which what never comes is given up; nothing that comes is bound to it, however busy the machine is."""


def watched(stage: Stage, **settings: Any) -> Any:
    """A toolbox whose check answers by the word."""
    policy = {"answers": WATCHED, **settings.pop("watch", {})}
    return stage.open("echo", "aecho", extensions={"watch": policy}, **settings)


def hangs(_request: Any) -> None:
    """An approver who does not answer."""
    RELEASE.wait()


def asked(stage: Stage, person: Person) -> None:
    """Write down each question."""
    for request in person.asked:
        stage.note("asked", request)


@scenario
def checks_answer(stage: Stage) -> None:
    """A check that lets pass, denies, raises, says what it may not, and asks while nobody is there."""
    toolbox = watched(stage)
    for word in ("hi", "no", "raised no", "broken", "wrong", "question"):
        stage.call(toolbox, "echo", {"word": word})
    for word in ("no", "question"):
        stage.decide(toolbox, "echo", {"word": word})
        stage.explain("echo", {"word": word})


@scenario
def checks_answer_later(stage: Stage) -> None:
    """Asynchronous checks, from synchronous code; one of them never answers."""
    toolbox = watched(stage)
    for word in ("later", "later no", "later broken"):
        stage.call(toolbox, "echo", {"word": word})
    stage.call(watched(stage, watch={"timeout_s": SHORT}), "echo", {"word": "never"})
    stage.decide(toolbox, "echo", {"word": "later no"})


@scenario
def checks_from_async_code(stage: Stage) -> None:
    """All of them from asynchronous code, of a synchronous and an asynchronous tool."""

    async def play() -> None:
        toolbox = watched(stage)
        for tool in ("echo", "aecho"):
            for word in ("hi", "no", "broken", "later", "later no", "question"):
                await stage.acall(toolbox, tool, {"word": word})
            await stage.acall(watched(stage, watch={"timeout_s": SHORT}), tool, {"word": "never"})
        await stage.adecide(toolbox, "aecho", {"word": "later no"})

    asyncio.run(play())


@scenario
def checks_that_are_advisory(stage: Stage) -> None:
    """What fails is passed over and noted; what denies, denies."""
    toolbox = watched(stage, watch={"advisory": True})
    for word in ("broken", "wrong", "no", "raised no"):
        stage.call(toolbox, "echo", {"word": word})
    stage.call(watched(stage, watch={"advisory": True, "timeout_s": SHORT}), "echo", {"word": "never"})


@scenario
def a_check_inside_a_loop(stage: Stage) -> None:
    """A synchronous call inside a running loop cannot wait, and says what to use."""

    async def play() -> None:
        toolbox = watched(stage)
        stage.call(toolbox, "echo", {"word": "later"})
        stage.call(toolbox, "aecho", WORD)
        stage.decide(toolbox, "echo", {"word": "later"})

    asyncio.run(play())


@scenario
def asks_nobody(stage: Stage) -> None:
    """A rule of ask, where nobody can be asked."""
    toolbox = stage.open("echo", ask=["echo"])
    stage.call(toolbox, "echo", WORD)
    stage.decide(toolbox, "echo", WORD)
    stage.explain("echo", WORD)


@scenario
def asks_once(stage: Stage) -> None:
    """A rule of ask with a reason: allowed once, by name, then denied."""
    person = Person(named("allow_once", "ann"), named("deny", "ann", "Not today."), "deny")
    rule = {"rule": "echo", "reason": "loud", "message": "Shall it speak?"}
    toolbox = stage.open("echo", ask=[rule], approver=person)
    for _ in range(3):
        stage.call(toolbox, "echo", WORD)
    asked(stage, person)
    stage.note("ran", RAN)


@scenario
def asks_for_good(stage: Stage) -> None:
    """Allowed always: the same call asks nobody again, another does; a new toolbox knows, one of another profile does not."""
    person = Person(named("allow_always", "ann"), "deny", "deny")
    toolbox = stage.open("echo", ask=["echo"], approver=person)
    for word in ("hi", "hi", "other"):
        stage.call(toolbox, "echo", {"word": word})
    again = stage.open("echo", ask=["echo"], approver=person)
    stage.call(again, "echo", WORD)
    stage.explain("echo", WORD)
    changed = stage.open("echo", "body", ask=["echo"], approver=person)
    stage.call(changed, "echo", WORD)
    asked(stage, person)


@scenario
def asks_about_commands(stage: Stage) -> None:
    """A line of two commands, of which one waits for a person."""
    person = Person("allow_once")
    toolbox = stage.open("command", ask=["bash:git push*"], allow=["bash:ls*"], approver=person)
    stage.call(toolbox, "command", {"line": "ls && git push origin"})
    stage.explain("command", {"line": "ls && git push origin"})
    asked(stage, person)


@scenario
def asks_in_mode_ask(stage: Stage) -> None:
    """The mode asks about what no rule allows."""
    person = Person("allow_once")
    toolbox = stage.open("echo", mode="ask", allow=["echo(word=free)"], approver=person)
    stage.call(toolbox, "echo", {"word": "free"})
    stage.call(toolbox, "echo", WORD)
    asked(stage, person)


@scenario
def asks_by_a_check(stage: Stage) -> None:
    """A check wants a person; "always" is not offered."""
    person = Person("allow_always", "deny")
    toolbox = watched(stage, approver=person)
    for _ in range(2):
        stage.call(toolbox, "echo", {"word": "question"})
    asked(stage, person)


@scenario
def asks_nobody_about_what_the_tool_refuses(stage: Stage) -> None:
    """The tool's own checks come first."""
    person = Person()
    toolbox = stage.open(tools={"echo": {"refused": ["hi"]}}, ask=["echo"], approver=person)
    stage.call(toolbox, "echo", WORD)
    asked(stage, person)


@scenario
def asks_in_vain(stage: Stage) -> None:
    """An approver that raises, says nothing or nonsense; and two that do not answer in time, one of them asynchronous."""

    async def never(_request: Any) -> None:
        await asyncio.get_running_loop().create_future()

    def broken(_request: Any) -> None:
        raise RuntimeError("no line")

    for person in (Person(broken, None, "perhaps"), Person(hangs, never)):
        patience = {"timeout_s": 100 if person.left == 3 else SHORT}
        toolbox = stage.open("echo", ask=["echo"], approver=person, approvals=patience)
        for _ in range(person.left):  # A person who is asked late is asked all the same.
            stage.call(toolbox, "echo", WORD)


@scenario
def asks_from_async_code(stage: Stage) -> None:
    """Allowed once, always, denied and not answered, of an asynchronous tool."""

    async def yes(_request: Any) -> str:
        await asyncio.sleep(0)
        return "allow_once"

    async def never(_request: Any) -> None:
        await asyncio.get_running_loop().create_future()

    async def play() -> None:
        person = Person(yes, "allow_always", "deny")
        toolbox = stage.open("aecho", ask=["aecho"], approver=person)
        for word in ("a", "b", "b", "c"):
            await stage.acall(toolbox, "aecho", {"word": word})
        asked(stage, person)
        person = Person(never, hangs)
        toolbox = stage.open("aecho", ask=["aecho"], approver=person, approvals={"timeout_s": SHORT})
        for word in ("d", "e"):
            await stage.acall(toolbox, "aecho", {"word": word})

    asyncio.run(play())


@scenario
def asks_the_wrong_person(stage: Stage) -> None:
    """An answer by somebody who may not give it."""
    person = Person(named("allow_once", "eve"), "allow_once", named("allow_once", "ann@ops"))
    toolbox = stage.open("echo", ask=["echo"], approver=person, approvals={"approvers": ["*@ops"]})
    for _ in range(3):
        stage.call(toolbox, "echo", WORD)


@scenario
def an_approval_is_void(stage: Stage) -> None:
    """The tool's checks give another result by the time the answer comes."""

    def late(_request: Any) -> str:
        (stage.workspace / "state").write_text("stop")
        return "allow_once"

    (stage.workspace / "state").write_text("go")
    toolbox = stage.open("changing", ask=["changing"], approver=Person(late))
    stage.call(toolbox, "changing", {})


@scenario
def a_question_is_taken_back(stage: Stage) -> None:
    """Ctrl-C while a person is being asked."""

    def interrupts(_request: Any) -> None:
        time.sleep(0.1)  # A signal that arrives just before a thread falls asleep does not wake it.
        os.kill(os.getpid(), signal.SIGINT)
        RELEASE.wait()

    toolbox = stage.open("echo", ask=["echo"], approver=Person(interrupts))
    stage.call(toolbox, "echo", WORD)
    stage.note("ran", RAN)


@scenario
def a_question_is_taken_back_from_async_code(stage: Stage) -> None:
    """The task is cancelled while a person is being asked."""

    async def play() -> None:
        there = asyncio.Event()

        async def never(_request: Any) -> None:
            there.set()
            await asyncio.get_running_loop().create_future()

        toolbox = stage.open("aecho", ask=["aecho"], approver=Person(never))
        task = asyncio.create_task(stage.acall(toolbox, "aecho", WORD))
        await there.wait()
        task.cancel()
        await task

    asyncio.run(play())


@scenario
def a_question_at_closing_time(stage: Stage) -> None:
    """The toolbox closes while a person is being asked: the call ends as cancelled, and nothing runs."""
    asking = threading.Event()

    def waits(_request: Any) -> str:
        asking.set()
        RELEASE.wait()
        return "allow_once"

    toolbox = stage.open("echo", ask=["echo"], approver=Person(waits))
    caller = threading.Thread(target=lambda: stage.call(toolbox, "echo", WORD))
    caller.start()
    asking.wait()
    toolbox.close()
    caller.join()
    stage.note("ran", RAN)


@scenario
def cancelled_by_ctrl_c(stage: Stage) -> None:
    """Ctrl-C in a body, in a body below a body, and in an isolated one's caller."""
    toolbox = stage.open("body", "isolated")
    stage.call(toolbox, "body", {"how": "interrupt"})

    def strike() -> None:
        STARTED.wait()
        time.sleep(0.1)  # A signal that arrives just before a thread falls asleep does not wake it.
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=strike).start()
    stage.call(toolbox, "isolated", {})


@scenario
def cancelled_tasks(stage: Stage) -> None:
    """A task that is cancelled while an asynchronous body, and an isolated one, is at work."""

    async def cancel(toolbox: Any, tool: str, args: dict[str, str]) -> None:
        STARTED.clear()
        task = asyncio.create_task(stage.acall(toolbox, tool, args))
        await asyncio.to_thread(STARTED.wait)
        task.cancel()
        await task

    async def play() -> None:
        toolbox = stage.open("abody", "isolated")
        await cancel(toolbox, "abody", {"how": "forever"})
        await cancel(toolbox, "isolated", {})

    asyncio.run(play())


@scenario
def timed_out(stage: Stage) -> None:
    """An inline body past its deadline, an isolated one that hangs, an asynchronous one that waits."""
    toolbox = stage.open("body", "isolated", "abody", limits={"timeout_s": SHORT})
    stage.call(toolbox, "body", {"how": "late"})
    stage.call(toolbox, "isolated", {})
    stage.call(toolbox, "abody", {"how": "forever"})


@scenario
def timed_out_in_async_code(stage: Stage) -> None:
    """The same from asynchronous code."""

    async def play() -> None:
        toolbox = stage.open("body", "isolated", "abody", limits={"timeout_s": SHORT})
        await stage.acall(toolbox, "body", {"how": "late"})
        await stage.acall(toolbox, "isolated", {})
        await stage.acall(toolbox, "abody", {"how": "forever"})

    asyncio.run(play())


@scenario
def stuck(stage: Stage) -> None:
    """After eight bodies that never returned the tool is refused, from async code, too."""
    toolbox = stage.open("isolated", limits={"timeout_s": 0.05})
    for _ in range(9):
        stage.call(toolbox, "isolated", {})
    asyncio.run(stage.acall(toolbox, "isolated", {"how": "return"}))


@scenario
def async_tools(stage: Stage) -> None:
    """Asynchronous tools from synchronous and asynchronous code: ok, denied, wrong, failing, with a child."""
    calls: list[tuple[str, dict[str, str]]] = [
        *[("aecho", {"word": word}) for word in ("hi", "bad")],
        ("aecho", {"wrod": "x"}),
        *[("abody", {"how": how}) for how in ("text", "tool error", "exception", "secrets", "child", "system exit")],
    ]
    toolbox = stage.open(tools={"aecho": {"refused": ["bad"]}, "abody": {}, "echo": {}})
    for tool, args in calls:
        stage.call(toolbox, tool, args)
        stage.decide(toolbox, tool, args)

    async def play() -> None:
        for tool, args in calls:
            await stage.acall(toolbox, tool, args)
            await stage.adecide(toolbox, tool, args)
        await stage.acall(toolbox, "nope", {})

    asyncio.run(play())
    stage.explain("aecho", {"word": "bad"})


@scenario
def sync_tools_in_async_code(stage: Stage) -> None:
    """Inline, isolated, denied by a rule, limited."""

    async def play() -> None:
        toolbox = stage.open(
            "echo", "isolated", deny=["echo(word=bad)"], limits={"tools": {"isolated": {"calls_per_session": 1}}}
        )
        for word in ("hi", "bad"):
            await stage.acall(toolbox, "echo", {"word": word})
        for _ in range(2):
            await stage.acall(toolbox, "isolated", {"how": "return"})

    asyncio.run(play())


class Sink:
    """Fails on some of its writes; keeps the names of the events of the others."""

    def __init__(self, *failing: int) -> None:
        self._failing = failing
        self.writes: list[str] = []

    def write(self, lines: bytes) -> None:
        """See `Sink`."""
        self.writes.append(lines.decode())
        if len(self.writes) - 1 in self._failing:
            raise OSError("disk full")

    def close(self) -> None:
        """Hold nothing."""


def written(stage: Stage, sink: Sink) -> None:
    """Write down what a sink was given, one write after the other."""
    for number, text in enumerate(sink.writes):
        stage.note(f"write {number}", text.rstrip("\n"))


@scenario
def audit_unavailable(stage: Stage) -> None:
    """The first half cannot be written: the call does not run."""
    sink = Sink(1)
    toolbox = stage.open("echo", events=[sink], events_={"required": True})
    for _ in range(2):
        stage.call(toolbox, "echo", WORD)
    stage.note("ran", RAN)
    stage.note("lost", toolbox.lost_events)
    written(stage, sink)


@scenario
def audit_lost(stage: Stage) -> None:
    """The second half cannot be written: the result is withheld, and calls are refused until the sink recovers."""
    sink = Sink(2, 3)
    toolbox = stage.open("echo", events=[sink], events_={"required": True})
    for _ in range(3):
        stage.call(toolbox, "echo", WORD)
    stage.note("ran", RAN)
    written(stage, sink)


@scenario
def audit_is_not_required(stage: Stage) -> None:
    """Losses are counted, and the calls go on."""
    sink = Sink(1, 2)
    toolbox = stage.open("echo", events=[sink])
    stage.call(toolbox, "echo", WORD)
    stage.note("lost", toolbox.lost_events)
    written(stage, sink)


@scenario
def closed(stage: Stage) -> None:
    """A closed toolbox answers nothing."""
    toolbox = stage.open("echo", "aecho")
    toolbox.close()
    stage.call(toolbox, "echo", WORD)
    stage.call(toolbox, "nope", WORD)
    stage.decide(toolbox, "echo", WORD)
    asyncio.run(stage.acall(toolbox, "aecho", WORD))


@scenario
def live(stage: Stage) -> None:
    """The toolbox of a session, before and after a reload that finds nothing new."""
    toolbox = stage.open_live("echo", deny=["echo(word=bad)"])
    stage.call(toolbox, "echo", WORD)
    stage.note("reload", toolbox.reload())
    for tool, word in [("echo", "bad"), ("nope", "x")]:
        stage.call(toolbox, tool, {"word": word})
    toolbox.close()
    stage.call(toolbox, "echo", WORD)
