"""The golden calls that wait, end early or end badly: checks, people, time, cancellation, sinks, closing; async code."""

import asyncio
import os
import signal
import threading
import time
from typing import Any

from .plugin import RAN, RELEASE, STARTED, Person, answer_by
from .scenario_run import ScenarioRun, scenario

WORD = {"word": "hi"}
CHECK_ANSWERS = {
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
SHORT_S = 0.3
"""Seconds after which what never comes is given up; nothing that comes is bound to it, however busy the machine is."""


def open_watched(run: ScenarioRun, **settings: Any) -> Any:
    """A toolbox whose check answers by the word."""
    policy = {"answers": CHECK_ANSWERS, **settings.pop("watch", {})}
    return run.open("echo", "aecho", extensions={"watch": policy}, **settings)


def hang(_request: Any) -> None:
    """An approver who does not answer."""
    RELEASE.wait()


def note_questions(run: ScenarioRun, person: Person) -> None:
    """Write down each question."""
    for request in person.asked:
        run.note("asked", request)


@scenario
def checks_answer(run: ScenarioRun) -> None:
    """A check that lets pass, denies, raises, says what it may not, and asks while nobody is there."""
    toolbox = open_watched(run)
    for word in ("hi", "no", "raised no", "broken", "wrong", "question"):
        run.call(toolbox, "echo", {"word": word})
    for word in ("no", "question"):
        run.decide(toolbox, "echo", {"word": word})
        run.explain("echo", {"word": word})


@scenario
def checks_answer_later(run: ScenarioRun) -> None:
    """Asynchronous checks, from synchronous code; one of them never answers."""
    toolbox = open_watched(run)
    for word in ("later", "later no", "later broken"):
        run.call(toolbox, "echo", {"word": word})
    run.call(open_watched(run, watch={"timeout_s": SHORT_S}), "echo", {"word": "never"})
    run.decide(toolbox, "echo", {"word": "later no"})


@scenario
def checks_from_async_code(run: ScenarioRun) -> None:
    """All of them from asynchronous code, of a synchronous and an asynchronous tool."""

    async def play() -> None:
        toolbox = open_watched(run)
        for tool in ("echo", "aecho"):
            for word in ("hi", "no", "broken", "later", "later no", "question"):
                await run.acall(toolbox, tool, {"word": word})
            await run.acall(open_watched(run, watch={"timeout_s": SHORT_S}), tool, {"word": "never"})
        await run.adecide(toolbox, "aecho", {"word": "later no"})

    asyncio.run(play())


@scenario
def checks_that_are_advisory(run: ScenarioRun) -> None:
    """What fails is passed over and noted; what denies, denies."""
    toolbox = open_watched(run, watch={"advisory": True})
    for word in ("broken", "wrong", "no", "raised no"):
        run.call(toolbox, "echo", {"word": word})
    run.call(open_watched(run, watch={"advisory": True, "timeout_s": SHORT_S}), "echo", {"word": "never"})


@scenario
def a_check_inside_a_loop(run: ScenarioRun) -> None:
    """A synchronous call inside a running loop cannot wait, and says what to use."""

    async def play() -> None:
        toolbox = open_watched(run)
        run.call(toolbox, "echo", {"word": "later"})
        run.call(toolbox, "aecho", WORD)
        run.decide(toolbox, "echo", {"word": "later"})

    asyncio.run(play())


@scenario
def asks_nobody(run: ScenarioRun) -> None:
    """A rule of ask, where nobody can be asked."""
    toolbox = run.open("echo", ask=["echo"])
    run.call(toolbox, "echo", WORD)
    run.decide(toolbox, "echo", WORD)
    run.explain("echo", WORD)


@scenario
def asks_once(run: ScenarioRun) -> None:
    """A rule of ask with a reason: allowed once, by name, then denied."""
    person = Person(answer_by("allow_once", "ann"), answer_by("deny", "ann", "Not today."), "deny")
    rule = {"rule": "echo", "reason": "loud", "message": "Shall it speak?"}
    toolbox = run.open("echo", ask=[rule], approver=person)
    for _ in range(3):
        run.call(toolbox, "echo", WORD)
    note_questions(run, person)
    run.note("ran", RAN)


@scenario
def asks_for_good(run: ScenarioRun) -> None:
    """Allowed always: the same call asks nobody again, another does; a new toolbox knows, one of another profile does not."""
    person = Person(answer_by("allow_always", "ann"), "deny", "deny")
    toolbox = run.open("echo", ask=["echo"], approver=person)
    for word in ("hi", "hi", "other"):
        run.call(toolbox, "echo", {"word": word})
    again = run.open("echo", ask=["echo"], approver=person)
    run.call(again, "echo", WORD)
    run.explain("echo", WORD)
    changed = run.open("echo", "body", ask=["echo"], approver=person)
    run.call(changed, "echo", WORD)
    note_questions(run, person)


@scenario
def asks_about_commands(run: ScenarioRun) -> None:
    """A line of two commands, of which one waits for a person."""
    person = Person("allow_once")
    toolbox = run.open("command", ask=["bash:git push*"], allow=["bash:ls*"], approver=person)
    run.call(toolbox, "command", {"line": "ls && git push origin"})
    run.explain("command", {"line": "ls && git push origin"})
    note_questions(run, person)


@scenario
def asks_in_mode_ask(run: ScenarioRun) -> None:
    """The mode asks about what no rule allows."""
    person = Person("allow_once")
    toolbox = run.open("echo", mode="ask", allow=["echo(word=free)"], approver=person)
    run.call(toolbox, "echo", {"word": "free"})
    run.call(toolbox, "echo", WORD)
    note_questions(run, person)


@scenario
def asks_by_a_check(run: ScenarioRun) -> None:
    """A check wants a person; "always" is not offered."""
    person = Person("allow_always", "deny")
    toolbox = open_watched(run, approver=person)
    for _ in range(2):
        run.call(toolbox, "echo", {"word": "question"})
    note_questions(run, person)


@scenario
def asks_nobody_about_what_the_tool_refuses(run: ScenarioRun) -> None:
    """The tool's own checks come first."""
    person = Person()
    toolbox = run.open(tools={"echo": {"refused": ["hi"]}}, ask=["echo"], approver=person)
    run.call(toolbox, "echo", WORD)
    note_questions(run, person)


@scenario
def asks_in_vain(run: ScenarioRun) -> None:
    """An approver that raises, says nothing or nonsense; and two that do not answer in time, one of them asynchronous."""

    async def never(_request: Any) -> None:
        await asyncio.get_running_loop().create_future()

    def broken(_request: Any) -> None:
        raise RuntimeError("no line")

    for person in (Person(broken, None, "perhaps"), Person(hang, never)):
        patience = {"timeout_s": 100 if person.answers_left == 3 else SHORT_S}
        toolbox = run.open("echo", ask=["echo"], approver=person, approvals=patience)
        for _ in range(person.answers_left):  # A person who is asked late is asked all the same.
            run.call(toolbox, "echo", WORD)


@scenario
def asks_from_async_code(run: ScenarioRun) -> None:
    """Allowed once, always, denied and not answered, of an asynchronous tool."""

    async def yes(_request: Any) -> str:
        await asyncio.sleep(0)
        return "allow_once"

    async def never(_request: Any) -> None:
        await asyncio.get_running_loop().create_future()

    async def play() -> None:
        person = Person(yes, "allow_always", "deny")
        toolbox = run.open("aecho", ask=["aecho"], approver=person)
        for word in ("a", "b", "b", "c"):
            await run.acall(toolbox, "aecho", {"word": word})
        note_questions(run, person)
        person = Person(never, hang)
        toolbox = run.open("aecho", ask=["aecho"], approver=person, approvals={"timeout_s": SHORT_S})
        for word in ("d", "e"):
            await run.acall(toolbox, "aecho", {"word": word})

    asyncio.run(play())


@scenario
def asks_the_wrong_person(run: ScenarioRun) -> None:
    """An answer by somebody who may not give it."""
    person = Person(answer_by("allow_once", "eve"), "allow_once", answer_by("allow_once", "ann@ops"))
    toolbox = run.open("echo", ask=["echo"], approver=person, approvals={"approvers": ["*@ops"]})
    for _ in range(3):
        run.call(toolbox, "echo", WORD)


@scenario
def an_approval_is_void(run: ScenarioRun) -> None:
    """The tool's checks give another result by the time the answer comes."""

    def late(_request: Any) -> str:
        (run.workspace / "state").write_text("stop")
        return "allow_once"

    (run.workspace / "state").write_text("go")
    toolbox = run.open("changing", ask=["changing"], approver=Person(late))
    run.call(toolbox, "changing", {})


@scenario
def a_question_is_taken_back(run: ScenarioRun) -> None:
    """Ctrl-C while a person is being asked."""

    def interrupts(_request: Any) -> None:
        time.sleep(0.1)  # A signal that arrives just before a thread falls asleep does not wake it.
        os.kill(os.getpid(), signal.SIGINT)
        RELEASE.wait()

    toolbox = run.open("echo", ask=["echo"], approver=Person(interrupts))
    run.call(toolbox, "echo", WORD)
    run.note("ran", RAN)


@scenario
def a_question_is_taken_back_from_async_code(run: ScenarioRun) -> None:
    """The task is cancelled while a person is being asked."""

    async def play() -> None:
        there = asyncio.Event()

        async def never(_request: Any) -> None:
            there.set()
            await asyncio.get_running_loop().create_future()

        toolbox = run.open("aecho", ask=["aecho"], approver=Person(never))
        task = asyncio.create_task(run.acall(toolbox, "aecho", WORD))
        await there.wait()
        task.cancel()
        await task

    asyncio.run(play())


@scenario
def a_question_at_closing_time(run: ScenarioRun) -> None:
    """The toolbox closes while a person is being asked: the call ends as cancelled, and nothing runs."""
    asking = threading.Event()

    def waits(_request: Any) -> str:
        asking.set()
        RELEASE.wait()
        return "allow_once"

    toolbox = run.open("echo", ask=["echo"], approver=Person(waits))
    caller = threading.Thread(target=lambda: run.call(toolbox, "echo", WORD))
    caller.start()
    asking.wait()
    toolbox.close()
    caller.join()
    run.note("ran", RAN)


@scenario
def cancelled_by_ctrl_c(run: ScenarioRun) -> None:
    """Ctrl-C in a body, in a body below a body, and in an isolated one's caller."""
    toolbox = run.open("body", "isolated")
    run.call(toolbox, "body", {"how": "interrupt"})

    def strike() -> None:
        STARTED.wait()
        time.sleep(0.1)  # A signal that arrives just before a thread falls asleep does not wake it.
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=strike).start()
    run.call(toolbox, "isolated", {})


@scenario
def cancelled_tasks(run: ScenarioRun) -> None:
    """A task that is cancelled while an asynchronous body, and an isolated one, is at work."""

    async def cancel(toolbox: Any, tool: str, args: dict[str, str]) -> None:
        STARTED.clear()
        task = asyncio.create_task(run.acall(toolbox, tool, args))
        await asyncio.to_thread(STARTED.wait)
        task.cancel()
        await task

    async def play() -> None:
        toolbox = run.open("abody", "isolated")
        await cancel(toolbox, "abody", {"how": "forever"})
        await cancel(toolbox, "isolated", {})

    asyncio.run(play())


@scenario
def timed_out(run: ScenarioRun) -> None:
    """An inline body past its deadline, an isolated one that hangs, an asynchronous one that waits."""
    toolbox = run.open("body", "isolated", "abody", limits={"timeout_s": SHORT_S})
    run.call(toolbox, "body", {"how": "late"})
    run.call(toolbox, "isolated", {})
    run.call(toolbox, "abody", {"how": "forever"})


@scenario
def timed_out_in_async_code(run: ScenarioRun) -> None:
    """The same from asynchronous code."""

    async def play() -> None:
        toolbox = run.open("body", "isolated", "abody", limits={"timeout_s": SHORT_S})
        await run.acall(toolbox, "body", {"how": "late"})
        await run.acall(toolbox, "isolated", {})
        await run.acall(toolbox, "abody", {"how": "forever"})

    asyncio.run(play())


@scenario
def stuck(run: ScenarioRun) -> None:
    """After eight bodies that never returned the tool is refused, from async code, too."""
    toolbox = run.open("isolated", limits={"timeout_s": 0.05})
    for _ in range(9):
        run.call(toolbox, "isolated", {})
    asyncio.run(run.acall(toolbox, "isolated", {"how": "return"}))


@scenario
def async_tools(run: ScenarioRun) -> None:
    """Asynchronous tools from synchronous and asynchronous code: ok, denied, wrong, failing, with a child."""
    calls: list[tuple[str, dict[str, str]]] = [
        *[("aecho", {"word": word}) for word in ("hi", "bad")],
        ("aecho", {"wrod": "x"}),
        *[("abody", {"how": how}) for how in ("text", "tool error", "exception", "secrets", "child", "system exit")],
    ]
    toolbox = run.open(tools={"aecho": {"refused": ["bad"]}, "abody": {}, "echo": {}})
    for tool, args in calls:
        run.call(toolbox, tool, args)
        run.decide(toolbox, tool, args)

    async def play() -> None:
        for tool, args in calls:
            await run.acall(toolbox, tool, args)
            await run.adecide(toolbox, tool, args)
        await run.acall(toolbox, "nope", {})

    asyncio.run(play())
    run.explain("aecho", {"word": "bad"})


@scenario
def sync_tools_in_async_code(run: ScenarioRun) -> None:
    """Inline, isolated, denied by a rule, limited."""

    async def play() -> None:
        toolbox = run.open(
            "echo", "isolated", deny=["echo(word=bad)"], limits={"tools": {"isolated": {"calls_per_session": 1}}}
        )
        for word in ("hi", "bad"):
            await run.acall(toolbox, "echo", {"word": word})
        for _ in range(2):
            await run.acall(toolbox, "isolated", {"how": "return"})

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


def written(run: ScenarioRun, sink: Sink) -> None:
    """Write down what a sink was given, one write after the other."""
    for number, text in enumerate(sink.writes):
        run.note(f"write {number}", text.rstrip("\n"))


@scenario
def audit_unavailable(run: ScenarioRun) -> None:
    """The first half cannot be written: the call does not run."""
    sink = Sink(1)
    toolbox = run.open("echo", events=[sink], events_={"required": True})
    for _ in range(2):
        run.call(toolbox, "echo", WORD)
    run.note("ran", RAN)
    run.note("lost", toolbox.lost_events)
    written(run, sink)


@scenario
def audit_lost(run: ScenarioRun) -> None:
    """The second half cannot be written: the result is withheld, and calls are refused until the sink recovers."""
    sink = Sink(2, 3)
    toolbox = run.open("echo", events=[sink], events_={"required": True})
    for _ in range(3):
        run.call(toolbox, "echo", WORD)
    run.note("ran", RAN)
    written(run, sink)


@scenario
def audit_is_not_required(run: ScenarioRun) -> None:
    """Losses are counted, and the calls go on."""
    sink = Sink(1, 2)
    toolbox = run.open("echo", events=[sink])
    run.call(toolbox, "echo", WORD)
    run.note("lost", toolbox.lost_events)
    written(run, sink)


@scenario
def closed(run: ScenarioRun) -> None:
    """A closed toolbox answers nothing."""
    toolbox = run.open("echo", "aecho")
    toolbox.close()
    run.call(toolbox, "echo", WORD)
    run.call(toolbox, "nope", WORD)
    run.decide(toolbox, "echo", WORD)
    asyncio.run(run.acall(toolbox, "aecho", WORD))


@scenario
def live(run: ScenarioRun) -> None:
    """The toolbox of a session, before and after a reload that finds nothing new."""
    toolbox = run.open_live("echo", deny=["echo(word=bad)"])
    run.call(toolbox, "echo", WORD)
    run.note("reload", toolbox.reload())
    for tool, word in [("echo", "bad"), ("nope", "x")]:
        run.call(toolbox, tool, {"word": word})
    toolbox.close()
    run.call(toolbox, "echo", WORD)
