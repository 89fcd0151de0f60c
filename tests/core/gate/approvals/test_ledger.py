"""What an approval is of, and that it is used once, in time, for just that."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.rows import each_row

from toolcharter.gate.approvals.ledger import Ledger, call_digest

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=8,
)
ARGS = st.dictionaries(st.text(), VALUES, max_size=4)
WORK = Path("/work")


def digest(args: Any) -> str:
    return call_digest("push", args, WORK, "abc")


def reordered(value: Any) -> Any:
    """The same JSON, each mapping from its last key to its first, each list as a tuple."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return tuple(map(reordered, value)) if isinstance(value, list) else value


@pytest.mark.slow
@given(ARGS)
def test_order_of_keys_does_not_count(args) -> None:
    """Equal arguments have one digest, however a host has written them."""
    assert digest(reordered(args)) == digest(args)


@pytest.mark.slow
@given(ARGS, ARGS)
def test_digests_are_equal_only_for_equal_json(one, other) -> None:
    """Nothing but the same JSON has the same digest."""
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)

    assert (digest(one) == digest(other)) == same


@each_row(
    ("one", "other"),
    [
        pytest.param({"n": 1}, {"n": 1.0}, id="int or float"),
        pytest.param({"n": 1}, {"n": True}, id="number or boolean"),
        pytest.param({"n": None}, {}, id="null or absent"),
        pytest.param({"n": "1"}, {"n": 1}, id="text or number"),
        pytest.param({"n": ["ab"]}, {"n": ["a", "b"]}, id="one or two"),
        pytest.param({"n": "\udc80"}, {"n": "\\udc80"}, id="a surrogate or its escape"),
    ],
)
def test_neighbours_differ(one, other) -> None:
    """What is nearly the same call is another."""
    assert digest(one) != digest(other)


def test_each_part_counts() -> None:
    """Tool, workspace, profile and commands are approved with the arguments."""
    digests = {
        call_digest("push", {}, WORK, "abc"),
        call_digest("pull", {}, WORK, "abc"),
        call_digest("push", {}, Path("/other"), "abc"),
        call_digest("push", {}, WORK, "abd"),
        call_digest("push", {}, WORK, "abc", ("ls",)),
        call_digest("push", {}, WORK, "abc", ("ls", "ls")),
    }

    assert [len(digest) for digest in digests] == [64] * 6


@pytest.mark.parametrize(
    ("args", "error"),
    [
        pytest.param({"n": float("nan")}, ValueError, id="nan"),
        pytest.param({"n": float("inf")}, ValueError, id="infinity"),
        pytest.param({"n": {1: "x"}}, TypeError, id="a key that is no text"),
        pytest.param({"n": Path("/x")}, TypeError, id="no json"),
    ],
)
def test_what_is_no_json_has_no_digest(args, error) -> None:
    """Nothing is approved that could be mistaken for something else."""
    with pytest.raises(error):
        digest(args)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock) -> Ledger:
    return Ledger(clock=clock, limit=3)


def test_an_approval_is_used_once(ledger) -> None:
    """A replay finds nothing."""
    token = ledger.open("d", 10)
    ledger.answer(token, "allow")

    assert [ledger.redeem(token, "d"), ledger.redeem(token, "d")] == [True, False]


def test_another_call_voids_the_approval(ledger) -> None:
    """An edited call begins from the beginning, and so does the one that was asked about."""
    token = ledger.open("d", 10)
    ledger.answer(token, "allow")

    assert [ledger.redeem(token, "e"), ledger.redeem(token, "d")] == [False, False]


def test_nothing_runs_before_the_answer(ledger) -> None:
    """A question is no approval."""
    token = ledger.open("d", 10)

    assert ledger.redeem(token, "d") is False


def test_a_denial_takes_back_what_was_allowed(ledger) -> None:
    """Of two answers the denial counts, and nobody can answer after it."""
    token = ledger.open("d", 10)

    answers = [ledger.answer(token, word) for word in ("allow", "deny", "allow")]

    assert (answers, ledger.redeem(token, "d")) == ([True, True, False], False)


@pytest.mark.parametrize(
    ("now", "runs"), [pytest.param(9.9, True, id="before"), pytest.param(10, False, id="at the end")]
)
def test_an_approval_expires_before_its_use(ledger, clock, now, runs) -> None:
    """The moment it expires is too late."""
    token = ledger.open("d", 10)
    ledger.answer(token, "allow")
    clock.now = now

    assert ledger.redeem(token, "d") is runs


@pytest.mark.parametrize("word", ["allow", "deny"])
def test_an_answer_that_comes_too_late_is_none(ledger, clock, word) -> None:
    """Whoever answers is told that nobody waits any more."""
    token = ledger.open("d", 10)
    clock.now = 10

    assert (ledger.answer(token, word), ledger.redeem(token, "d")) == (False, False)


def test_the_oldest_make_room_after_the_expired(ledger, clock) -> None:
    """However many questions are open, memory is bounded; those that nobody can use go first."""
    clock.now = 5
    tokens = [ledger.open("d", end) for end in (10, 4, 10, 10)]
    kept = [ledger.answer(token, "allow") for token in tokens]
    ledger.open("d", 10)

    assert kept == [True, False, True, True]
    assert [ledger.redeem(token, "d") for token in tokens] == [False, False, True, True]


def test_threads_share_one_use(ledger) -> None:
    """Of many that redeem one approval at the same time, one succeeds."""
    token = ledger.open("d", 10)
    ledger.answer(token, "allow")
    barrier = threading.Barrier(8)
    taken: list[bool] = []

    def redeem() -> None:
        barrier.wait()
        taken.append(ledger.redeem(token, "d"))

    threads = [threading.Thread(target=redeem) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(taken) == [False] * 7 + [True]


class LedgerMachine(RuleBasedStateMachine):
    """Questions, answers, time, edits and restarts in any order, beside a plain model of them."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.ledger = Ledger(clock=self.clock, limit=4)
        self.tokens: list[tuple[str, str, float]] = []
        self.allowed: set[str] = set()
        self.used: list[str] = []

    @rule(digest=st.sampled_from("ab"), wait=st.integers(0, 5))
    def ask(self, digest: str, wait: int) -> None:
        end = self.clock.now + wait
        self.tokens.append((self.ledger.open(digest, end), digest, end))

    @rule(data=st.data(), word=st.sampled_from(["allow", "deny"]))
    def answer(self, data: st.DataObject, word: Any) -> None:
        if self.tokens:
            token, _, _ = data.draw(st.sampled_from(self.tokens))
            if self.ledger.answer(token, word):
                (self.allowed.add if word == "allow" else self.allowed.discard)(token)

    @rule(data=st.data(), digest=st.sampled_from("ab"))
    def redeem(self, data: st.DataObject, digest: str) -> None:
        if self.tokens:
            token, asked, end = data.draw(st.sampled_from(self.tokens))
            if self.ledger.redeem(token, digest):
                assert token in self.allowed
                assert digest == asked
                assert self.clock.now < end
                self.used.append(token)

    @rule(seconds=st.integers(0, 3))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds

    @rule()
    def restart(self) -> None:
        self.ledger = Ledger(clock=self.clock, limit=4)
        self.allowed.clear()

    @invariant()
    def each_is_used_once(self) -> None:
        assert len(self.used) == len(set(self.used))
        assert len(self.ledger._pending) <= 4


TestLedgerMachine = LedgerMachine.TestCase
