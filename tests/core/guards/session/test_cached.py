"""`cached_reads`: when a read is answered from memory, and all that ends an answer."""

import gc

import pytest
from tests.core.guards.session.conftest import call_of
from tests.rows import each_row

from toolcharter.api.call import Call, Caller, Outcome, ToolResult
from toolcharter.guards.session.cached import MAX_ANSWERS, MAX_CHARS, CachedReads, is_read

READ = frozenset({"fs:read"})
WRITE = frozenset({"fs:write"})


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cached(clock: Clock) -> CachedReads:
    return CachedReads(30, clock)


def read(path: str = "a", caller: Caller | None = None) -> Call:
    call: Call = call_of("read_file", {"path": path}, READ)
    return call if caller is None else call._replace(caller=caller)


def run(cached: CachedReads, call: Call, text: str = "x", *, effects: bool = False, outcome: Outcome = "ok") -> None:
    cached.entered(call, has_effects=effects)
    cached.ended("s", call, ToolResult(outcome, text))


def answered(cached: CachedReads, call: Call, session: str = "s") -> str | None:
    found = cached.find(session, call)
    return None if found is None else found.text


@each_row(
    "words, kind, expected",
    [
        (READ, "builtin", True),
        (frozenset({"net:read"}), "builtin", True),
        (frozenset({"fs:read", "text"}), "builtin", True),
        (frozenset({"text"}), "builtin", False),
        (frozenset(), "builtin", False),
        (None, "builtin", False),
        (frozenset({"fs:read", "fs:write"}), "builtin", False),
        (frozenset({"fs:read", "proc:exec"}), "builtin", False),
        (frozenset({"memory:read"}), "builtin", False),
        (frozenset({"sessions:read", "fs:read"}), "builtin", False),
        (READ, "mcp", False),
        (READ, "cli", False),
        (READ, "bash", False),
    ],
)
def test_what_is_a_read(words: frozenset[str] | None, kind: str, expected: object) -> None:
    """What the workspace or the network says, and nothing that lives elsewhere or runs a program."""
    assert is_read(call_of("t", {}, words, kind)) is expected


def test_same_read_is_answered_for_its_time(cached: CachedReads, clock: Clock) -> None:
    """With the same arguments, in whatever order, until the time is over."""
    run(cached, call_of("grep", {"query": "x", "path": "a"}, READ), "found")
    clock.now += 29.9
    assert answered(cached, call_of("grep", {"path": "a", "query": "x"}, READ)) == "found"
    assert answered(cached, call_of("grep", {"path": "b", "query": "x"}, READ)) is None
    clock.now += 0.1
    assert answered(cached, call_of("grep", {"path": "a", "query": "x"}, READ)) is None


def test_answers_are_the_callers_own(cached: CachedReads) -> None:
    """Another session, agent or user may see other files under the same name."""
    call = read(caller=Caller(agent="a", user="u"))
    run(cached, call)
    assert answered(cached, read(caller=Caller(agent="a", user="u"))) == "x"
    assert answered(cached, call, session="t") is None
    for other in (Caller(agent="b", user="u"), Caller(agent="a", user="v"), Caller(agent="a", user="u", depth=1)):
        assert answered(cached, read(caller=other)) is None


def test_errors_and_long_answers_are_not_kept(cached: CachedReads) -> None:
    """A failure may be over the next time."""
    rows: list[tuple[Outcome, str]] = [("error", "x"), ("denied", "x"), ("ok", "x" * (MAX_CHARS + 1))]
    for outcome, text in rows:
        run(cached, call := read(), text, outcome=outcome)
        assert answered(cached, call) is None


def test_effects_end_every_answer(cached: CachedReads) -> None:
    """When they begin, while they last, and when they end; whatever comes of them, and in whatever session."""
    call, write = read(), call_of("bash", {"command": "x"}, None, "bash")
    run(cached, call)
    cached.entered(write, has_effects=True)
    assert answered(cached, call) is None
    run(cached, call)  # what is read meanwhile may be half written
    assert answered(cached, call) is None
    cached.ended("another", write, ToolResult("error", "failed"))
    assert answered(cached, call) is None
    run(cached, call, "y")
    assert answered(cached, call) == "y"


def test_read_that_an_effect_overtook_is_not_kept(cached: CachedReads) -> None:
    """It may have seen what was there before."""
    call = read()
    cached.entered(call, has_effects=False)
    run(cached, call_of("write_file", {"path": "a"}, WRITE), effects=True)
    cached.ended("s", call, ToolResult("ok", "old"))
    assert answered(cached, call) is None


def test_effect_that_never_ends_stops_all(cached: CachedReads) -> None:
    """Its body may run on."""
    cached.entered(call_of("write_file", {}, WRITE), has_effects=True)
    gc.collect()  # the call is kept: another object must not be taken for it
    for number in range(100):
        run(cached, call := read(str(number)))
        assert answered(cached, call) is None


def test_calls_that_never_entered_leave_nothing(cached: CachedReads) -> None:
    """A refused write changes nothing, a refused read is no answer."""
    run(cached, call := read())
    cached.ended("s", call_of("write_file", {}, WRITE), ToolResult("denied", "no"))
    cached.ended("s", read("b"), ToolResult("ok", "?"))
    assert answered(cached, call) == "x"
    assert answered(cached, read("b")) is None


def test_oldest_answers_go_first(cached: CachedReads) -> None:
    """The memory is bounded."""
    for number in range(MAX_ANSWERS + 1):
        run(cached, read(str(number)))
    assert answered(cached, read("0")) is None
    assert answered(cached, read("1")) == "x"


def test_child_of_a_fork_begins_anew(cached: CachedReads) -> None:
    """The parent's calls are none of its own."""
    run(cached, call := read())
    cached.entered(call_of("write_file", {}, WRITE), has_effects=True)
    cached.renew()
    assert answered(cached, call) is None
    run(cached, call, "y")
    assert answered(cached, call) == "y"
