"""`RateLimits` with counts in this process: at the limit and one past it, in threads, for ever and in little memory."""

import signal
import sys
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcharter.guards.rates import BoundLimits, RateKeys, RateLimits, Refused
from toolcharter.guards.rates.limits import SESSION_IDLE_S
from toolcharter.profile.settings import Rate, Rates

KEYS = RateKeys("s1", "main")


def bound(limits: RateLimits, tool: str = "bash", agent: str | None = "main") -> BoundLimits:
    found = limits.bind(tool, agent)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "rates",
    [
        pytest.param([], id="nothing written"),
        pytest.param([Rates(), Rates(tools={"git": Rate(calls_per_hour=1)})], id="another tool"),
        pytest.param([Rates(agents={"sub*": Rate(calls_per_hour=1)})], id="another agent"),
    ],
)
def test_tool_without_limits_is_bound_to_nothing(rates: list[Rates]) -> None:
    """The gate has nothing to ask and pays nothing."""
    assert RateLimits(rates).bind("bash", "main") is None


REFUSALS = [
    pytest.param(
        "calls_per_minute",
        12.0,
        Refused("calls_per_minute 2", 48.0, "calls_per_minute is 2; try again in 48 s."),
        id="minute",
    ),
    pytest.param(
        "calls_per_minute",
        59.5,
        Refused("calls_per_minute 2", 0.5, "calls_per_minute is 2; try again in 1 s."),
        id="minute, almost over",
    ),
    pytest.param("calls_per_minute", 60.0, None, id="minute, over"),
    pytest.param(
        "calls_per_hour",
        60.0,
        Refused("calls_per_hour 2", 3540.0, "calls_per_hour is 2; try again in 3540 s."),
        id="hour",
    ),
    pytest.param("calls_per_hour", 3600.0, None, id="hour, over"),
    pytest.param(
        "calls_per_session",
        86_400.0,
        Refused("calls_per_session 2", None, "calls_per_session is 2; no more calls in this session."),
        id="session",
    ),
]


@pytest.mark.parametrize(("name", "later_s", "answer"), REFUSALS)
def test_call_past_the_limit_is_refused_until_the_window_has_moved_on(clock, total, name, later_s, answer) -> None:
    """The limit itself fits; the answer names the limit and the time to wait."""
    take = bound(RateLimits([total(**{name: 2})], clock)).acquire
    fitting = [take(KEYS), take(KEYS)]
    clock.now += later_s

    assert (fitting, take(KEYS)) == ([None, None], answer)


@pytest.mark.parametrize(("name", "later_s", "answer"), REFUSALS)
async def test_asynchronous_code_gets_the_same_answers(clock, total, name, later_s, answer) -> None:
    """One count, whichever way the calls come."""
    limits = bound(RateLimits([total(**{name: 2})], clock))
    fitting = [await limits.aacquire(KEYS), limits.acquire(KEYS)]
    clock.now += later_s

    assert (fitting, await limits.aacquire(KEYS)) == ([None, None], answer)


def test_time_to_wait_is_the_time_to_wait(clock, total) -> None:
    """Who comes back when told is let in."""
    take = bound(RateLimits([total(calls_per_minute=1)], clock)).acquire
    take(KEYS)
    clock.now += 17.25
    answer = take(KEYS)
    assert isinstance(answer, Refused)
    assert answer.wait_s is not None
    clock.now += answer.wait_s

    assert take(KEYS) is None


@pytest.mark.parametrize(
    ("per", "others"),
    [
        pytest.param("session", [RateKeys("s2", "main")], id="session"),
        pytest.param("agent", [RateKeys("s1", "other")], id="agent"),
    ],
)
def test_each_session_or_agent_has_counts_of_its_own(total, per, others) -> None:
    """The other key of a call plays no part."""
    take = bound(RateLimits([total(per=per, calls_per_hour=1)])).acquire
    same = RateKeys("s1", "elsewhere") if per == "session" else RateKeys("elsewhere", "main")

    assert take(KEYS) is None
    assert take(same) is not None
    assert [take(other) for other in others] == [None]


def test_calls_per_session_are_the_sessions_even_where_agents_are_counted(total) -> None:
    """A new session of the same agent begins at nothing."""
    take = bound(RateLimits([total(per="agent", calls_per_session=1)])).acquire

    assert [take(RateKeys(session, "main")) is None for session in ("s1", "s1", "s2")] == [True, False, True]


def test_total_is_shared_by_all_tools_and_a_tools_own_limit_is_not(clock) -> None:
    """Names have no case."""
    limits = RateLimits([Rates(Rate(calls_per_hour=3), {"bash": Rate(calls_per_minute=1)})], clock)
    bash, git = bound(limits, "Bash"), bound(limits, "git")

    answers = [bash.acquire(KEYS), bash.acquire(KEYS), git.acquire(KEYS), git.acquire(KEYS), git.acquire(KEYS)]

    assert answers == [
        None,
        Refused("calls_per_minute 1 for bash", 60.0, "calls_per_minute is 1 for 'bash'; try again in 60 s."),
        None,
        None,
        Refused("calls_per_hour 3", 3600.0, "calls_per_hour is 3; try again in 3600 s."),
    ]


def test_agents_of_one_pattern_share_its_count(clock) -> None:
    """Who makes up another name gets no more room; each pattern that matches counts."""
    rates = Rates(agents={"sub*": Rate(calls_per_hour=2), "*-2": Rate(calls_per_minute=1)})
    limits = RateLimits([rates], clock)

    answers = [bound(limits, agent=agent).acquire(KEYS) for agent in ("sub-1", "sub-2", "sub-3", "lone-2")]

    for_sub = Refused(
        "calls_per_hour 2 for agent sub*", 3600.0, "calls_per_hour is 2 for agents 'sub*'; try again in 3600 s."
    )
    for_two = Refused(
        "calls_per_minute 1 for agent *-2", 60.0, "calls_per_minute is 1 for agents '*-2'; try again in 60 s."
    )
    assert answers == [None, None, for_sub, for_two]


def test_strictest_of_profile_and_ceilings_wins(clock, total) -> None:
    """A call needs room in all, whoever has written them and whatever they count by."""
    profile, admin, workspace = total(calls_per_hour=5), total(per="agent", calls_per_hour=2), total(calls_per_hour=3)
    take = bound(RateLimits([profile, admin, workspace], clock)).acquire

    answers = [take(RateKeys(session, "main")) is None for session in ("s1", "s2", "s3")]

    assert answers == [True, True, False]


def test_of_several_refusals_the_longest_is_told(clock, total) -> None:
    """Who waits for it finds room in all; waiting for a session does not help, so that comes first."""
    take = bound(RateLimits([total(calls_per_minute=1, calls_per_hour=1)], clock)).acquire
    take(KEYS)
    with_session = bound(RateLimits([total(calls_per_hour=1, calls_per_session=1)], clock)).acquire
    with_session(KEYS)

    limits = [take(KEYS), with_session(KEYS)]

    assert [isinstance(limit, Refused) and limit.limit for limit in limits] == [
        "calls_per_hour 1",
        "calls_per_session 1",
    ]


def test_refused_call_is_counted_nowhere(clock) -> None:
    """Not by the limit that refuses, nor by another that had room."""
    limits = RateLimits([Rates(Rate(calls_per_hour=2, calls_per_session=2), {"bash": Rate(calls_per_minute=1)})], clock)
    bash, git = bound(limits, "bash"), bound(limits, "git")
    bash.acquire(KEYS)
    for _ in range(5):
        bash.acquire(KEYS)

    assert [git.acquire(KEYS) is None, git.acquire(KEYS) is None] == [True, False]


STEPS = st.tuples(st.integers(0, 480).map(lambda eighths: eighths / 8), st.sampled_from("ab"), st.sampled_from("xy"))


@given(st.lists(STEPS, max_size=60), st.integers(1, 4), st.integers(1, 8), st.integers(1, 12), st.booleans())
def test_windows_let_in_what_a_naive_model_lets_in(steps, for_x, minute, session, with_session) -> None:
    """The model keeps every call and counts those of the last minute."""
    now = [0.0]
    total = Rate(calls_per_minute=minute, calls_per_session=session if with_session else None)
    limits = RateLimits([Rates(total, {"x": Rate(calls_per_minute=for_x)})], lambda: now[0])
    tools = {tool: bound(limits, tool) for tool in "xy"}
    entered: dict[str, list[tuple[float, str]]] = defaultdict(list)

    for pause_s, key, tool in steps:
        now[0] += pause_s
        recent = [name for at, name in entered[key] if now[0] - at < 60]
        room = len(recent) < minute and (tool == "y" or recent.count("x") < for_x)
        room &= not with_session or len(entered[key]) < session
        assert (tools[tool].acquire(RateKeys(key, "main")) is None) is room
        if room:
            entered[key].append((now[0], tool))


@pytest.mark.parametrize(
    "rates",
    [
        pytest.param(Rates(Rate(calls_per_hour=1000)), id="one window"),
        pytest.param(Rates(Rate(calls_per_hour=1000, calls_per_session=2000)), id="several limits"),
    ],
)
def test_threads_never_pass_more_than_the_limit(rates: Rates) -> None:
    """Sixteen threads that change at every chance, and exactly as many calls as fit."""
    take = bound(RateLimits([rates])).acquire
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            passed = sum(pool.map(lambda _: sum(take(KEYS) is None for _ in range(200)), range(16)))
    finally:
        sys.setswitchinterval(interval)

    assert passed == 1000


class Interrupted(Exception):
    """What the handler of a signal raises, as that of Ctrl-C does."""


def test_interrupted_call_leaves_no_lock_behind(total) -> None:
    """A later call from another thread does not hang."""
    interruptions = [Interrupted()]

    def clock() -> float:
        if interruptions:
            raise interruptions.pop()
        return 2.0

    take = bound(RateLimits([total(calls_per_hour=1)], clock)).acquire
    with pytest.raises(Interrupted):
        take(KEYS)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(take, KEYS).result(30) is None


def test_call_interrupted_while_it_waits_leaves_the_lock_to_its_owner(clock, total) -> None:
    """The thread that is counting is not joined by another."""
    limits = RateLimits([total(calls_per_hour=1)], clock)
    take = bound(limits).acquire
    held, waits, done = threading.Event(), threading.Event(), threading.Event()
    errors: list[RuntimeError] = []
    struck: list[int] = []

    def hold() -> None:
        try:
            with limits._lock:
                held.set()
                waits.wait(30)
                # A signal that arrives just before a thread falls asleep does not wake it: the next one does.
                while not done.wait(0.1):
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        except RuntimeError as error:  # It had been released by another.
            errors.append(error)

    def wait() -> None:
        waits.set()
        take(KEYS)

    def interrupt(number: int, _: object) -> None:
        if not struck:
            struck.append(number)
            raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    holder = threading.Thread(target=hold)
    holder.start()
    try:
        held.wait(30)
        with pytest.raises(Interrupted):
            wait()
    finally:
        done.set()
        holder.join()
        signal.signal(signal.SIGUSR1, before)

    assert (errors, take(KEYS)) == ([], None)


def test_counts_that_have_left_their_window_are_dropped(clock, total) -> None:
    """A process that lives long keeps no more sessions than call at one time."""
    limits = RateLimits([total(calls_per_minute=2, calls_per_hour=2)], clock)
    take = bound(limits).acquire
    for number in range(50_000):
        clock.now += 1
        take(RateKeys(f"s{number}", "main"))

    assert {
        limit.name: len(counter.entries) <= 2 * limit.window_s + 2 for limit, counter in limits._counters.items()
    } == {
        "calls_per_minute": True,
        "calls_per_hour": True,
    }


@pytest.mark.parametrize("others", [pytest.param(1, id="a few"), pytest.param(400, id="many")])
def test_count_in_its_window_outlives_any_flood_of_other_sessions(clock, total, others: int) -> None:
    """Nobody washes out a count, however often generations turn meanwhile."""
    take = bound(RateLimits([total(calls_per_minute=1)], clock)).acquire
    kept: list[bool] = []
    for step in range(50):
        mine = RateKeys(f"mine {step}", "main")
        take(mine)
        for number in range(others):
            clock.now += 59 / others
            take(RateKeys(f"{step} {number}", "main"))
        kept.append(take(mine) is not None)

    assert kept == [True] * 50


def test_limit_that_is_full_of_sessions_refuses_new_ones_until_some_are_over(clock, total) -> None:
    """What is known goes on; nothing that lives is dropped for what comes."""
    take = bound(RateLimits([total(calls_per_minute=2)], clock, max_keys=2)).acquire
    known = [take(RateKeys(name, "main")) for name in ("s1", "s2", "s1")]
    clock.now += 20

    full = take(RateKeys("s3", "main"))

    message = "calls_per_minute counts the calls of 2 sessions and has no room for another; try again in 100 s."
    assert (known, full) == ([None, None, None], Refused("calls_per_minute 2", 100.0, message))
    assert (take(RateKeys("s1", "main")) is None, take(RateKeys("s2", "main")) is None) == (False, True)
    clock.now += 40
    assert isinstance(take(RateKeys("s3", "main")), Refused)
    clock.now += 60
    assert take(RateKeys("s3", "main")) is None


def test_session_is_forgotten_once_it_has_been_idle_for_a_week(clock, total) -> None:
    """Until then its count stands, whoever comes and goes."""
    take = bound(RateLimits([total(calls_per_session=1)], clock)).acquire
    take(KEYS)
    others = iter(range(100))

    def after(seconds: float) -> bool:
        clock.now += seconds
        take(RateKeys(f"other {next(others)}", "main"))
        return take(KEYS) is None

    assert [after(SESSION_IDLE_S - 1), after(SESSION_IDLE_S - 1)] == [False, False]
    clock.now += SESSION_IDLE_S
    take(RateKeys("another", "main"))
    clock.now += SESSION_IDLE_S
    take(RateKeys("one more", "main"))
    assert take(KEYS) is None


def test_limits_of_this_process_hold_no_connection(total) -> None:
    """There is nothing to close, and closing does no harm."""
    limits = RateLimits([total(calls_per_hour=1)])
    limits.close()

    assert bound(limits).acquire(KEYS) is None
