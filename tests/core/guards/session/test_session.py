"""All guards of a session together: order, dry runs, threads, bounds."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from toolcharter.api.call import Deny
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import AfterCall, DependsOn, ReadBeforeWrite, Repeats, SkipDuplicate

EDIT = parse_rule("edit_file")
SETTINGS = {
    "depends_on": (DependsOn(EDIT, parse_rule("plan"), "Plan first."),),
    "read_before_write": ReadBeforeWrite("strict"),
    "skip_duplicate": (SkipDuplicate(EDIT),),
    "repeated_calls": Repeats(warn=1, deny=4),
    "same_result": Repeats(warn=2, deny=9),
    "after_call": (AfterCall(EDIT, "Run the tests."),),
}
REPEATED = "NOTE: This is call {} in a row of 'edit_file' with the same arguments; it will hardly return anything new."


@pytest.mark.parametrize("name", SETTINGS)
def test_one_setting_makes_it_active(make_memory, name) -> None:
    """Every guard alone is a reason to ask, and is named by its key."""
    memory = make_memory(**{name: SETTINGS[name]})

    assert (memory.active, memory.switched_on) == (True, (name,))


def test_nothing_switched_on_is_inactive_and_says_nothing(make_agent) -> None:
    """The gate pays nothing, and loses nothing if it asks all the same."""
    agent = make_agent(read_before_write=ReadBeforeWrite("off", reads=("cat",)))

    assert (agent.memory.active, agent.memory.switched_on, agent("edit_file")) == (False, (), ())


def test_guards_object_and_speak_in_one_order(make_agent) -> None:
    """What must come first, then what need not come again; then the result's own notes, then the profile's."""
    seen = {"f": 1}
    agent = make_agent(**SETTINGS, identify=seen.get)
    unread = "This session has not read the current version of 'f'; read it first."
    again = "'edit_file' was called like this before; you already have the result, further up."

    told = [agent("edit_file", path="f")]
    agent("plan")
    told.append(agent("edit_file", path="f"))
    agent("read_file", path="f")
    told += [agent("edit_file", path="f"), agent("edit_file", path="f")]
    agent("bash", effects=True)
    told.append(agent("edit_file", path="f", outcome="error"))
    told += [agent("edit_file", path="f", outcome="error") for _ in range(3)]

    failed = "NOTE: The last {} calls of 'edit_file' had the same result; try another way."
    number_four = "This is call 4 in a row of 'edit_file' with the same arguments."
    assert told == [
        Deny("precondition_failed", "Plan first."),
        Deny("precondition_failed", unread, "Call 'read_file', then repeat this call."),
        (REPEATED.format(1), "NOTE: Run the tests."),
        Deny("repeated_call", again, "Use the earlier result."),
        (REPEATED.format(1),),
        (REPEATED.format(2), failed.format(2)),
        (REPEATED.format(3), failed.format(3)),
        Deny("repeated_call", number_four, "Do something else first, or change the arguments."),
    ]


def test_dry_run_tells_what_would_be_said(make_agent) -> None:
    """`before` gives the warnings, which a real call gets with its result."""
    agent = make_agent(repeated_calls=Repeats(warn=1))

    assert [agent.dry("edit_file"), agent("edit_file")] == [(REPEATED.format(1),)] * 2


def test_dry_runs_move_nothing(make_agent, agent_of) -> None:
    """However often one is asked, for known and unknown sessions, all that follows is the same."""

    def story(dry):
        one = make_agent(**SETTINGS, identify={"f": 1}.get, max_sessions=2)
        two, three = agent_of(one.memory, "two"), agent_of(one.memory, "three")
        told = []
        for agent, tool in ((one, "plan"), (two, "plan"), (one, "read_file"), *[(one, "edit_file")] * 6, (three, "x")):
            for _ in range(dry):
                for other in (one, two, three, agent_of(one.memory, "four")):
                    other.dry("edit_file", path="f")
                    other.dry(tool, path="f")
            told.append(agent(tool, path="f", outcome="error"))
        return told, list(one.memory._sessions._sessions)

    assert story(0) == story(3)


@pytest.mark.parametrize("outcome", ["ok", "error", "denied"])
def test_call_that_never_entered_leaves_no_trace(make_agent, make_call, outcome) -> None:
    """What policy, a person or a limit refused is neither counted nor remembered."""
    agent = make_agent(**SETTINGS)
    for tool in ("plan", "edit_file", "edit_file"):
        agent.end(make_call(tool), outcome)

    assert agent.dry("edit_file", path="f") == Deny("precondition_failed", "Plan first.")


def test_end_of_a_call_counts_once(make_memory, make_call) -> None:
    """A second `after`, even one from within the first, finds the call gone."""
    call = make_call("read_file", {"path": "f"})
    early: list[tuple[str, ...]] = []
    armed: list[bool] = []

    def identify(path):
        if armed:
            armed.clear()
            early.append(memory.after("s", call, "ok", "text"))
        return 1

    settings = {"same_result": Repeats(warn=1), "read_before_write": ReadBeforeWrite("warn")}
    memory = make_memory(identify=identify, **settings)
    memory.entered("s", call, has_effects=False)
    armed.append(True)

    told = [memory.after("s", call, "ok", "text") for _ in range(2)]

    note = "NOTE: The last 1 calls of 'read_file' had the same result; try another way."
    assert (early, told) == ([(note,)], [(), ()])


@pytest.mark.parametrize("threads", [2, 8])
def test_of_calls_at_the_same_time_one_is_the_last(make_memory, make_call, threads) -> None:
    """A limit lets as many calls through as it says, however many threads ask at once."""
    memory = make_memory(repeated_calls=Repeats(deny=5), identify=lambda _: 1)
    barrier = Barrier(threads)

    def enter(number):
        barrier.wait()
        verdicts = []
        for _ in range(100):
            call = make_call("grep", {"pattern": "x"})
            memory.before("s", call)
            verdicts.append(memory.entered("s", call, has_effects=bool(number % 2)))
            memory.after("s", call, "ok", "text")
        return verdicts

    with ThreadPoolExecutor(threads) as pool:
        verdicts = [verdict for told in pool.map(enter, range(threads)) for verdict in told]

    assert (verdicts.count(None), len(verdicts)) == (4, threads * 100)


def test_threads_leave_a_session_whole(make_memory, make_call) -> None:
    """After effects and duplicates at random from many threads, nothing runs and nothing is stuck."""
    duplicate = SkipDuplicate(parse_rule("recall"))
    memory = make_memory(skip_duplicate=(duplicate,), same_result=Repeats(deny=10_000), max_sessions=2)
    barrier = Barrier(8)

    def work(number):
        barrier.wait()
        for turn in range(200):
            key = str((number + turn) % 5)
            call = make_call("bash" if turn % 3 else "recall")
            if memory.entered(key, call, has_effects=bool(turn % 3)) is None:
                memory.after(key, call, "ok", "text")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    asked = [make_call("recall") for _ in range(2)]
    memory.entered("fresh", make_call("bash"), has_effects=True)

    first = memory.entered("0", asked[0], has_effects=False)
    memory.after("0", asked[0], "ok", "text")
    second = memory.entered("0", asked[1], has_effects=False)

    sessions = memory._sessions._sessions.values()
    running = [len(session.running) for session in sessions]
    assert (first in {None, second}, second and second.reason, sorted(running)) == (True, "repeated_call", [0, 1])


@pytest.mark.parametrize(
    ("others", "known"),
    [pytest.param(2, True, id="at-the-limit"), pytest.param(3, False, id="one-past")],
)
def test_least_recently_used_session_is_dropped(make_agent, agent_of, others, known) -> None:
    """A dropped session has read nothing: strict guards fail closed."""
    agent = make_agent(read_before_write=ReadBeforeWrite("strict"), identify=lambda _: 1, max_sessions=3)
    agent("read_file", path="f")
    for number in range(others):
        agent_of(agent.memory, f"other {number}")("read_file", path="f")

    assert isinstance(agent("write_file", path="f"), Deny) is not known


def test_use_keeps_a_session(make_agent, agent_of) -> None:
    """The one that goes is the one that has been idle for longest."""
    one = make_agent(read_before_write=ReadBeforeWrite("strict"), identify=lambda _: 1, max_sessions=2)
    two, three = agent_of(one.memory, "two"), agent_of(one.memory, "three")
    for agent in (one, two, one, three):
        agent("read_file", path="f")

    assert [one("write_file", path="f"), isinstance(two("write_file", path="f"), Deny)] == [(), True]


def test_session_with_a_call_on_its_way_is_kept(make_agent, agent_of) -> None:
    """Nothing is lost in the middle of a call; the excess goes as soon as it can."""
    agent = make_agent(repeated_calls=Repeats(deny=2), max_sessions=1)
    others = [agent_of(agent.memory, str(number)) for number in range(3)]
    running = [other.begin("grep") for other in others]
    busy = len(agent.memory._sessions._sessions)
    for other, call in zip(others, running, strict=True):
        other.end(call)
    agent("grep")

    assert (busy, list(agent.memory._sessions._sessions)) == (3, ["s"])


def test_memory_is_bounded(make_agent, agent_of) -> None:
    """Thousands of sessions leave as many as the limit says."""
    agent = make_agent(repeated_calls=Repeats(deny=2), max_sessions=16)
    for number in range(2000):
        agent_of(agent.memory, str(number))("grep")

    assert list(agent.memory._sessions._sessions) == [str(number) for number in range(1984, 2000)]
