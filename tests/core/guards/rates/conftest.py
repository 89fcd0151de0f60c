"""A clock that tests move, and a real Redis."""

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from toolcharter.profile.settings import Rate, Rates


class Clock:
    """Seconds that go on when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class RedisServer:
    """A `redis-server` of this test's own, without persistence."""

    def __init__(self, program: str, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        self._command: list[str | Path] = [
            program,
            "--port",
            "0",
            "--unixsocket",
            self._socket,
            "--save",
            "",
            "--dir",
            folder,
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{self._socket}"

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        with redis.Redis.from_url(self.url) as client:
            until = time.monotonic() + 60
            while not _answers(client):
                assert time.monotonic() < until, "the server does not start"
                time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


@pytest.fixture
def clock() -> Clock:
    return Clock()


@contextmanager
def running_redis(program: str) -> Iterator[RedisServer]:
    """A started server; *program* is `redis-server`."""
    # Not below tmp_path: the address of a socket holds 107 bytes.
    with tempfile.TemporaryDirectory(prefix="rates-") as folder:
        server = RedisServer(program, Path(folder))
        server.start()
        yield server
        server.kill()


@pytest.fixture
def server(program: Callable[[str], str]) -> Iterator[RedisServer]:
    with running_redis(program("redis-server")) as running:
        yield running


@pytest.fixture
def total() -> Callable[..., Rates]:
    """`Rates` with a limit over all tools: `total(calls_per_minute=2)`."""

    def total(per="session", store=None, **numbers: int) -> Rates:
        return Rates(total=Rate(**numbers), per=per, store=store)

    return total
