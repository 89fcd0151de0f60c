"""`RateLimits` with counts in a real Redis: several processes, clocks that jump, servers that fail."""

import asyncio
import gc
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.ports import own_port

from toolcharter.errors import ConfigurationError
from toolcharter.guards.rates import BoundLimits, RateKeys, RateLimits, Refused, Unavailable
from toolcharter.profile.settings import Rate, Rates

pytestmark = pytest.mark.slow

KEYS = RateKeys("s1", "main")
PATIENCE_S = 30.0
"""How long a server may take for an answer: a busy machine is slower than a server that is given up."""
real_redis = pytest.mark.needs_program("redis-server")

# Takes NUMBER times in a process whose clock is OFFSET seconds off, and tells how many calls fit.
PROCESS = """
import sys, time
url, offset, number = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
right = time.time
time.time = lambda: right() + offset
from toolcharter.guards.rates import RateKeys, RateLimits
from toolcharter.profile.settings import Rate, Rates
limits = RateLimits([Rates(Rate(calls_per_minute=50), store=url)], timeout_s=30)
answers = [limits.bind("bash", None).acquire(RateKeys("s1", "main")) for _ in range(number)]
limits.close()
print(answers.count(None))
"""


@pytest.fixture
def make(server) -> Iterator[Callable[..., RateLimits]]:
    """Limits whose store is the server; closed at the end."""
    made: list[RateLimits] = []

    def make(*rates: Rates, **numbers: int) -> RateLimits:
        made.append(RateLimits([*rates, Rates(Rate(**numbers), store=server.url)], timeout_s=PATIENCE_S))
        return made[-1]

    yield make
    for limits in made:
        limits.close()


def bound(limits: RateLimits, tool: str = "bash", agent: str | None = "main") -> BoundLimits:
    found = limits.bind(tool, agent)
    assert found is not None
    return found


def processes(url: str, *offsets: float, number: int) -> list[int]:
    """How many calls fit for each of several processes that run at the same time."""
    command = [sys.executable, "-c", PROCESS, url]
    running = [
        subprocess.Popen([*command, str(offset), str(number)], stdout=subprocess.PIPE, text=True) for offset in offsets
    ]
    return [int(process.communicate(timeout=60)[0]) for process in running]


def passed(limits: BoundLimits, number: int) -> int:
    return [limits.acquire(KEYS) for _ in range(number)].count(None)


def set_back(server, seconds: float) -> None:
    """Let the times that the server keeps be *seconds* older."""
    with server.client() as client:
        for name in client.scan_iter("toolcharter:rates:*"):
            if client.type(name) == b"list":
                times = [int(time) for time in client.lrange(name, 0, -1)]
                client.delete(name)
                client.rpush(name, *[int(time - seconds * 1e6) for time in times])


@real_redis
@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        pytest.param("calls_per_minute", r"calls_per_minute is 2; try again in (59|60) s\.", 59, id="minute"),
        pytest.param("calls_per_hour", r"calls_per_hour is 2; try again in (3599|3600) s\.", 3599, id="hour"),
    ],
)
def test_window_of_the_server_slides(make, server, name: str, text: str, kept: float) -> None:
    """At the limit, one past it, just before the window is over, and after."""
    take = bound(make(**{name: 2})).acquire
    assert [take(KEYS), take(KEYS)] == [None, None]

    answer = take(KEYS)

    assert isinstance(answer, Refused)
    assert answer.limit == f"{name} 2"
    assert answer.wait_s is not None
    assert kept - 10 < answer.wait_s <= kept + 1
    assert re.fullmatch(text, answer.message)
    set_back(server, kept - 10)
    assert isinstance(take(KEYS), Refused)
    set_back(server, 11)
    assert take(KEYS) is None


@real_redis
def test_session_has_a_plain_count_that_ends_after_a_week(make, server) -> None:
    """Waiting does not help; a server keeps nothing for ever."""
    take = bound(make(calls_per_session=2)).acquire

    answers = [take(KEYS), take(KEYS), take(KEYS), take(RateKeys("s2", "main"))]

    no_more = Refused("calls_per_session 2", None, "calls_per_session is 2; no more calls in this session.")
    assert answers == [None, None, no_more, None]
    with server.client() as client:
        lives = [client.ttl(name) for name in client.scan_iter()]
    assert [7 * 86_400 - 60 < life <= 7 * 86_400 for life in lives] == [True, True]


@real_redis
def test_server_learns_no_names_and_keeps_no_more_than_the_limit(make, server) -> None:
    """A list is as long as its limit and lives as long as its window."""
    limits = make(Rates(agents={"m*": Rate(calls_per_minute=3)}, per="agent", store=server.url), calls_per_hour=5)
    passed(bound(limits), 9)

    with server.client() as client:
        kept = {name.decode(): (client.llen(name), client.ttl(name)) for name in client.scan_iter()}

    assert [(re.sub("[0-9a-f]{32}", "HASH", name), length) for name, (length, _) in sorted(kept.items())] == [
        ("toolcharter:rates:calls_per_hour 5:session:HASH", 3),
        ("toolcharter:rates:calls_per_minute 3 for agent m*:agent:HASH", 3),
    ]
    assert [life for _, (_, life) in sorted(kept.items())] == [pytest.approx(3600, abs=30), pytest.approx(60, abs=30)]


@real_redis
def test_refused_call_is_counted_by_no_limit_of_the_server(make, server) -> None:
    """All of one store are one step."""
    limits = make(
        Rates(tools={"bash": Rate(calls_per_minute=1)}, store=server.url), calls_per_hour=3, calls_per_session=3
    )
    fitting = passed(bound(limits), 5)

    assert (fitting, passed(bound(limits, "git"), 5)) == (1, 2)


@real_redis
def test_processes_share_one_count_whatever_their_clocks_say(server) -> None:
    """An hour ahead, an hour back: together they get what the limit gives, not a call more."""
    assert sum(processes(server.url, 0, 3600, -3600, number=40)) == 50


@real_redis
@pytest.mark.parametrize("offset", [pytest.param(3600, id="ahead"), pytest.param(-3600, id="back")])
def test_clock_that_jumps_neither_frees_nor_blocks(make, server, offset: float) -> None:
    """The rightful rest is left for the others, and nothing beyond it."""
    assert processes(server.url, offset, number=20) == [20]

    assert passed(bound(make(calls_per_minute=50)), 60) == 30
    assert processes(server.url, offset, number=5) == [0]


@real_redis
def test_server_whose_clock_was_put_back_lets_in_no_more_calls(make, server) -> None:
    """Calls from the server's future count until they are past."""
    take = bound(make(calls_per_minute=2)).acquire
    take(KEYS)
    set_back(server, -3600)

    answers = [take(KEYS), take(KEYS)]

    assert answers[0] is None
    assert isinstance(answers[1], Refused)
    assert answers[1].wait_s == pytest.approx(3660, abs=30)


@real_redis
def test_threads_share_the_connections_and_the_limit(make) -> None:
    """Sixteen threads, and exactly as many calls as fit."""
    limits = bound(make(calls_per_minute=100))

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(lambda _: passed(limits, 20), range(16))) == 100


@real_redis
async def test_asynchronous_calls_share_the_limit(make) -> None:
    """More of them at once than there are connections: they wait their turn."""
    limits = make(calls_per_minute=50)
    take = bound(limits).aacquire

    answers = await asyncio.gather(*[take(KEYS) for _ in range(120)])

    await asyncio.to_thread(limits.close)
    assert (answers.count(None), sum(isinstance(answer, Refused) for answer in answers)) == (50, 70)


@real_redis
def test_each_event_loop_has_connections_of_its_own(make) -> None:
    """One loop after the other, as in `asyncio.run` twice; a loop that has ended is no obstacle."""
    limits = make(calls_per_minute=2)

    async def use() -> object:
        answer = await bound(limits).aacquire(KEYS)
        limits.close()
        await asyncio.sleep(0)  # In its own thread, the loop closes them when it comes to it.
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        return answer

    answers = [asyncio.run(use()) for _ in range(3)]

    assert [type(answer) for answer in answers] == [type(None), type(None), Refused]


@real_redis
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_closing_leaves_a_loop_that_has_ended_alone(make) -> None:
    """Its connections went with it."""
    limits = make(calls_per_minute=2)
    asyncio.run(bound(limits).aacquire(KEYS))

    limits.close()
    gc.collect()  # Here, where what asyncio says of them is expected.

    assert passed(bound(limits), 2) == 1


@real_redis
async def test_server_killed_in_the_middle_denies_until_it_is_back(make, server) -> None:
    """No call is let in unseen; a server without persistence begins anew."""
    limits = make(calls_per_minute=2)
    take, aacquire = bound(limits).acquire, bound(limits).aacquire
    before = [take(KEYS), await aacquire(KEYS)]
    server.kill()
    during = [take(KEYS), await aacquire(KEYS)]
    server.start()
    after = [take(KEYS), await aacquire(KEYS), take(KEYS)]
    await asyncio.to_thread(limits.close)

    assert before == [None, None]
    gone = Unavailable("The rate limit store does not answer (ConnectionError), so no call is allowed.")
    assert during == [gone, gone]
    assert [type(answer) for answer in after] == [type(None), type(None), Refused]


@real_redis
def test_store_that_refuses_leaves_nothing_counted_here(make, server) -> None:
    """A ceiling counts in this process, the profile in a Redis: a call needs room in both, or counts in none."""
    ceiling = Rates(Rate(calls_per_hour=3, calls_per_session=3))
    limits = make(ceiling, Rates(tools={"bash": Rate(calls_per_minute=1)}, store=server.url))

    fitting = passed(bound(limits), 5)

    assert (fitting, passed(bound(limits, "git"), 5)) == (1, 2)


@real_redis
async def test_asynchronous_refusal_leaves_nothing_counted_in_earlier_stores(make, server) -> None:
    """Neither in this process nor in a first Redis, if the second has no room."""
    first, second = server.url, f"{server.url}?db=1"
    ceilings = [Rates(Rate(calls_per_hour=9)), Rates(Rate(calls_per_hour=3, calls_per_session=3), store=first)]
    limits = make(*ceilings, Rates(tools={"bash": Rate(calls_per_minute=1)}, store=second))

    answers = [await bound(limits).aacquire(KEYS) for _ in range(5)]
    await asyncio.to_thread(limits.close)

    assert (answers.count(None), passed(bound(limits, "git"), 5)) == (1, 2)


@real_redis
def test_synchronous_refusal_leaves_nothing_counted_in_earlier_stores(make, server) -> None:
    """The same from synchronous code."""
    second = Rates(tools={"bash": Rate(calls_per_minute=1)}, store=f"{server.url}?db=1")
    limits = make(Rates(Rate(calls_per_hour=3, calls_per_session=3), store=server.url), second)

    fitting = passed(bound(limits), 5)

    assert (fitting, passed(bound(limits, "git"), 5)) == (1, 2)


@real_redis
@pytest.mark.parametrize(
    ("given", "answer"),
    [
        pytest.param("right", None, id="right"),
        pytest.param(
            "wrong",
            Unavailable("The rate limit store does not answer (AuthenticationError), so no call is allowed."),
            id="wrong",
        ),
    ],
)
async def test_server_on_a_port_with_a_password(server, total, given: str, answer: Unavailable | None) -> None:
    """A wrong password denies, and stands in no message."""
    port = own_port()
    with server.client() as client:
        client.config_set("requirepass", "right")
        client.config_set("port", port)
    limits = RateLimits([total(calls_per_hour=5, store=f"redis://:{given}@127.0.0.1:{port}/1")], timeout_s=PATIENCE_S)

    answers = [bound(limits).acquire(KEYS), await bound(limits).aacquire(KEYS)]
    await asyncio.to_thread(limits.close)

    assert answers == [answer, answer]


@pytest.mark.parametrize("kind", ["synchronous", "asynchronous"])
async def test_what_one_server_refuses_the_others_give_back(server, total, clock, kind: str) -> None:
    """Two ceilings may name two servers: the call that the second refuses counts neither here nor on the first."""
    stores = [f"{server.url}?db={number}" for number in range(2)]
    here = total(calls_per_minute=3)
    limits = RateLimits(
        [here, total(calls_per_hour=3, store=stores[0]), total(calls_per_hour=1, store=stores[1])],
        clock,
        timeout_s=PATIENCE_S,
    )
    other = RateLimits([total(calls_per_hour=3, store=stores[0])], timeout_s=PATIENCE_S)

    async def take() -> object:
        return bound(limits).acquire(KEYS) if kind == "synchronous" else await bound(limits).aacquire(KEYS)

    answers = [await take() is None for _ in range(3)]
    left = passed(bound(other), 5)
    await asyncio.to_thread(limits.close)
    other.close()

    assert (answers, left) == ([True, False, False], 2)


class Listener:
    """Something that listens where a Redis should, and answers each of its questions with *reply*."""

    def __init__(self, reply: bytes, handshake: bytes | None) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._reply, self._handshake = reply, handshake
        self._open: list[socket.socket] = []
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}/0?protocol=2"
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            self._open.append(connection)
            if len(self._open) > 8:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            while data := connection.recv(65536):
                if b"EVALSHA" in data or self._handshake is None:
                    connection.sendall(self._reply)
                else:
                    connection.sendall(self._handshake * len(re.findall(rb"^\*\d+\r$", data, re.MULTILINE)))
        except OSError:
            return

    def close(self) -> None:
        while self._thread.is_alive():
            socket.create_connection(self._listening.getsockname()).close()
            self._thread.join(0.01)
        for connection in self._open:
            connection.close()
        self._listening.close()


@pytest.fixture
def listen() -> Iterator[Callable[..., str]]:
    listeners: list[Listener] = []

    def listen(reply: bytes = b"", handshake: bytes | None = None) -> str:
        listeners.append(Listener(reply, handshake))
        return listeners[-1].url

    yield listen
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    ("reply", "handshake"),
    [
        pytest.param(b"", None, id="silent"),
        pytest.param(b"", b"+OK\r\n", id="silent after the greeting"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", None, id="another protocol"),
        pytest.param(b"-LOADING Redis is loading the dataset in memory\r\n", None, id="not ready"),
        pytest.param(b"-ERR unknown command\r\n", b"+OK\r\n", id="error"),
        pytest.param(b":x\r\n", b"+OK\r\n", id="no number"),
        pytest.param(b"$-1\r\n", b"+OK\r\n", id="nothing"),
        pytest.param(b":0\r\n", b"+OK\r\n", id="one number"),
        pytest.param(b"*3\r\n:0\r\n:0\r\n:0\r\n", b"+OK\r\n", id="three numbers"),
        pytest.param(b"*2\r\n$1\r\n0\r\n:1\r\n", b"+OK\r\n", id="text"),
        pytest.param(b"*2\r\n:0\r\n$1\r\n1\r\n", b"+OK\r\n", id="text for the time"),
        pytest.param(b"*2\r\n:2\r\n:1\r\n", b"+OK\r\n", id="limit that nobody asked about"),
        pytest.param(b"*2\r\n:-1\r\n:1\r\n", b"+OK\r\n", id="limit below the first"),
        pytest.param(b"*2\r\n:1\r\n:-2\r\n", b"+OK\r\n", id="time before now"),
    ],
)
async def test_server_that_answers_nonsense_denies(listen, total, reply: bytes, handshake: bytes | None) -> None:
    """Nobody knows whether there is room, so there is none; the answer names neither server nor cause."""
    limits = RateLimits([total(calls_per_minute=5, store=listen(reply, handshake))], timeout_s=0.2)

    answers = [bound(limits).acquire(KEYS), await bound(limits).aacquire(KEYS)]
    await asyncio.to_thread(limits.close)

    for answer in answers:
        assert isinstance(answer, Unavailable)
        assert re.fullmatch(r"The rate limit store does not answer \(\w+\), so no call is allowed\.", answer.message)


async def test_server_that_drips_is_left_by_asynchronous_code(listen, total) -> None:
    """Time for the whole question is limited, not only for each piece of the answer."""
    limits = RateLimits([total(calls_per_minute=5, store=listen(b"+", b"+OK\r\n"))], timeout_s=0.2)

    answer = await bound(limits).aacquire(KEYS)
    await asyncio.to_thread(limits.close)

    assert isinstance(answer, Unavailable)


def test_server_that_is_not_there_denies_and_keeps_the_count_here(total, tmp_path: Path) -> None:
    """The limit of this process is not used up by calls that were never let in."""
    ceiling = total(calls_per_hour=1)
    limits = RateLimits([ceiling, Rates(tools={"bash": Rate(calls_per_hour=1)}, store=f"unix://{tmp_path}/nobody")])

    refused = [bound(limits).acquire(KEYS) for _ in range(3)]
    limits.close()

    assert [type(answer) for answer in refused] == [Unavailable] * 3
    assert bound(limits, "git").acquire(KEYS) is None


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("memcached://127.0.0.1", id="another store"),
        pytest.param("redis://:pass/word@127.0.0.1:6379", id="password that is not escaped"),
        pytest.param("redis://127.0.0.1?db=one", id="no number"),
    ],
)
def test_url_that_cannot_be_read_is_an_error_of_the_profile(total, url: str) -> None:
    """Found when the toolbox is built; what may be a password is not repeated."""
    with pytest.raises(ConfigurationError) as raised:
        RateLimits([total(calls_per_hour=1, store=url)])

    assert str(raised.value) == (
        "limits.store: this is not a valid URL of a Redis.\n"
        "Write a URL such as redis://127.0.0.1:6379/0; in a password, write a slash as %2F."
    )


def test_missing_library_is_an_error_that_names_the_extra(total, monkeypatch) -> None:
    """A profile never runs with fewer limits than it was written for."""
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(ConfigurationError) as raised:
        RateLimits([total(calls_per_hour=1, store="redis://127.0.0.1")])

    assert str(raised.value) == (
        "limits.store: the counts are kept in a Redis, but the library for it is not installed.\n"
        "Install toolcharter with its extra: toolcharter[redis]."
    )


def test_library_is_imported_only_for_a_store() -> None:
    """Limits of one process start without it."""
    program = (
        "import sys; from toolcharter.guards.rates import RateLimits; from toolcharter.profile.settings import *;"
        "RateLimits([Rates(Rate(calls_per_hour=1))]); print({'redis', 'asyncio', 'limits'} & set(sys.modules))"
    )

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ran.stdout == "set()\n"
