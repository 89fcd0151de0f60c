"""Counts in a Redis that several processes share.

They are kept by our own script through `redis-py`, because the `limits` library cannot do it. Its moving window uses
the clock of each client, so a client whose clock is an hour off frees or blocks all others. Its sliding counter uses
the server's clock, but it estimates and lets more calls than the limit into a window. And it checks several limits one
by one: if the second refuses a call, the first has already counted it.

Our script uses the server's clock. It needs Redis 5 or newer, configured not to evict keys (`maxmemory-policy
noeviction`). Without persistence, a restart of the server forgets the counts. The server is trusted not to answer one
byte at a time: synchronous code limits each wait for the server, asynchronous code the whole request.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from toolcharter._lazy import lazy
from toolcharter.errors import ConfigurationError, Fault
from toolcharter.guards.rates.answers import Answer, RateKeys, Unavailable, limit_reached
from toolcharter.guards.rates.limits import SESSION_IDLE_S, Limit

if TYPE_CHECKING:
    import redis
    import redis.asyncio
    from redis import asyncio as redis_asyncio
    from redis import backoff, retry
else:
    redis = lazy("redis")
    redis_asyncio = lazy("redis.asyncio")
    backoff = lazy("redis.backoff")
    retry = lazy("redis.retry")

MAX_CONNECTIONS = 32
"""How many calls of one process, or of one event loop, may use a server at the same time. Further calls wait."""

_MICROSECONDS = 1_000_000
_NEVER = -1
_MOST = 10**9
"""The longest list that the script keeps. Lua's numbers are floating-point, and no window sees more calls."""

ACQUIRE_SCRIPT = """
-- KEYS: one for each limit. ARGV, for each: number of calls; window in microseconds, 0 for a session;
-- how long its count lives on after a call, in milliseconds.
-- Returns {0, time counted with}, or {which limit has no room for the longest, microseconds to wait or -1}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stamp, fullest, longest = now, 0, 0
for i, key in ipairs(KEYS) do
    local number, window, wait = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), 0
    if window == 0 then
        if tonumber(redis.call('GET', key) or 0) >= number then wait = math.huge end
    else
        local oldest = redis.call('LINDEX', key, number - 1)
        if oldest then wait = oldest + window - now end
        -- The newest comes first, also after the server's clock was put back.
        stamp = math.max(stamp, tonumber(redis.call('LINDEX', key, 0) or 0))
    end
    if wait > longest then fullest, longest = i, wait end
end
if longest == math.huge then return {fullest, -1} end
if fullest > 0 then return {fullest, longest} end
for i, key in ipairs(KEYS) do
    if ARGV[3 * i - 1] == '0' then
        redis.call('INCR', key)
        redis.call('PEXPIRE', key, ARGV[3 * i])
    else
        redis.call('LPUSH', key, string.format('%.0f', stamp))
        redis.call('LTRIM', key, 0, ARGV[3 * i - 2] - 1)
        redis.call('PEXPIRE', key, string.format('%.0f', math.ceil((stamp - now) / 1000) + ARGV[3 * i]))
    end
end
return {0, stamp}
"""

GIVE_BACK_SCRIPT = """
-- KEYS as above. ARGV: the time counted with; then the window of each.
for i, key in ipairs(KEYS) do
    if ARGV[i + 1] ~= '0' then
        redis.call('LREM', key, 1, ARGV[1])
    elseif redis.call('EXISTS', key) == 1 then
        redis.call('DECR', key)
    end
end
"""


class RedisStore:
    """One Redis server. It is connected to when the first call is counted."""

    def __init__(self, url: str | Callable[[], str], timeout_s: float) -> None:
        """Check the URL and the library. If *url* is a function, it is called when the first call is counted.

        Raises:
            ConfigurationError: *url* cannot be parsed, or `redis-py` is not installed.
        """
        self._timeout_s = timeout_s
        self._lock, self._url_lock = Lock(), Lock()
        self._get_url = url if callable(url) else None
        self._url = "" if callable(url) else url
        self._client = _client("redis://" if callable(url) else url, timeout_s)
        self._clients_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, redis.asyncio.Redis] = WeakKeyDictionary()

    def bind(self, limits: Iterable[Limit]) -> "RedisLimits":
        """Return the counts of *limits*, which all belong to this store."""
        return RedisLimits(self, tuple(limits))

    async def run(self, script: str, keys: Sequence[str], numbers: Sequence[float], *, blocks: bool) -> Any:
        """Run *script* on the server.

        Args:
            script: Lua.
            keys: Its `KEYS`.
            numbers: Its `ARGV`.
            blocks: Whether to wait in this thread and never suspend, for synchronous code. Otherwise, on an event loop,
                the whole request takes at most twice the time for one answer.

        Raises:
            Exception: Any error of the server, the connection or the library.
        """
        if blocks:
            self._resolve_url()
            return self._client.register_script(script)(keys, numbers)
        async with asyncio.timeout(2 * self._timeout_s):
            if self._get_url is not None:
                await asyncio.to_thread(self._resolve_url)
            return await self._client_of_loop().register_script(script)(keys, numbers)

    def _resolve_url(self) -> None:
        """Call the function for the URL, unless that has been done. Raises `ConfigurationError` for a malformed URL."""
        with self._url_lock:
            if self._get_url is not None:
                self._url = self._get_url()
                self._client = _client(self._url, self._timeout_s)
                self._get_url = None

    def _client_of_loop(self) -> "redis.asyncio.Redis":
        """Return the client of the running loop, since connections belong to the loop that made them."""
        loop = asyncio.get_running_loop()
        with self._lock:
            client = self._clients_by_loop.get(loop)
            if client is None:
                client = self._clients_by_loop[loop] = _async_client(self._url, self._timeout_s)
        return client

    def close(self) -> None:
        """Close all connections, except those of a loop that no longer runs, which have gone with it."""
        self._client.close()
        with self._lock:
            in_loops = list(self._clients_by_loop.items())
            self._clients_by_loop.clear()
        for loop, client in in_loops:
            if loop.is_running():
                self._close_in_loop(loop, client)

    def _close_in_loop(self, loop: asyncio.AbstractEventLoop, client: "redis.asyncio.Redis") -> None:
        closing = asyncio.run_coroutine_threadsafe(client.aclose(), loop)
        # In the loop's own thread, waiting would block the loop that has to close the client.
        if asyncio._get_running_loop() is not loop:
            with suppress(Exception):
                closing.result(self._timeout_s)


class RedisLimits:
    """Limits whose counts a Redis keeps."""

    def __init__(self, store: RedisStore, limits: tuple[Limit, ...]) -> None:
        self._store = store
        self._limits = limits
        self._numbers = [number for limit in limits for number in _numbers(limit)]
        self._windows = self._numbers[1::3]

    async def reserve(self, keys: RateKeys, *, blocks: bool) -> Answer | float:
        """Count a call in all limits or in none, and return the time it was counted with. *blocks* is as for `run`."""
        try:
            return self._parse_reply(
                await self._store.run(ACQUIRE_SCRIPT, self._count_keys(keys), self._numbers, blocks=blocks)
            )
        except Exception as error:  # noqa: BLE001 - after any error, the limit counts as not checked
            return _unavailable(error)

    async def give_back(self, keys: RateKeys, stamp: float, *, blocks: bool) -> None:
        """Undo the `reserve` that returned *stamp*. If the server cannot be reached, the call stays counted."""
        with suppress(Exception):
            await self._store.run(GIVE_BACK_SCRIPT, self._count_keys(keys), [stamp, *self._windows], blocks=blocks)

    def _count_keys(self, keys: RateKeys) -> list[str]:
        """Return the server's keys for the counts. Sessions and agents are hashed, so the keys reveal no names."""
        hashed = {whose: _hashed(key) for whose, key in keys._asdict().items()}
        return [f"toolcharter:rates:{limit.text}:{limit.whose}:{hashed[limit.whose]}" for limit in self._limits]

    def _parse_reply(self, reply: Any) -> Answer | float:
        """Parse a reply of the script `ACQUIRE_SCRIPT`.

        Raises:
            ValueError: *reply* is not from this script.
            TypeError: *reply* is not from this script.
        """
        fullest, number = reply
        if type(fullest) is not int or type(number) is not int or not 0 <= fullest <= len(self._limits):
            raise ValueError("not the reply of the script")
        if fullest == 0:
            return number
        if number < _NEVER:
            raise ValueError("no time to wait")
        return limit_reached(self._limits[fullest - 1], inf if number == _NEVER else number / _MICROSECONDS)


def _numbers(limit: Limit) -> tuple[int, int, int]:
    if limit.window_s == inf:
        return limit.number, 0, int(SESSION_IDLE_S * 1000)
    return min(limit.number, _MOST), int(limit.window_s * _MICROSECONDS), int(limit.window_s * 1000)


def _hashed(key: str) -> str:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _unavailable(error: Exception) -> Unavailable:
    # Without the error's text, which contains the server's name.
    return Unavailable(f"The rate limit store does not answer ({type(error).__name__}), so no call is allowed.")


def _client(url: str, timeout_s: float) -> "redis.Redis":
    try:
        pools = redis.BlockingConnectionPool
    except ImportError as error:
        raise ConfigurationError(
            [
                Fault(
                    "limits.store",
                    "",
                    "the counts are kept in a Redis, but the library for it is not installed.",
                    "Install toolcharter with its extra: toolcharter[redis].",
                )
            ]
        ) from error
    try:
        pool = pools.from_url(url, **_options(timeout_s))
    except ValueError:
        # Without the URL and the library's message: both may contain a password.
        fix = "Write a URL such as redis://127.0.0.1:6379/0; in a password, write a slash as %2F."
        raise ConfigurationError([Fault("limits.store", "", "this is not a valid URL of a Redis.", fix)]) from None
    return redis.Redis.from_pool(pool)


def _async_client(url: str, timeout_s: float) -> "redis.asyncio.Redis":
    return redis_asyncio.Redis.from_pool(redis_asyncio.BlockingConnectionPool.from_url(url, **_options(timeout_s)))


def _options(timeout_s: float) -> dict[str, Any]:
    return {
        "max_connections": MAX_CONNECTIONS,
        "timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "socket_timeout": timeout_s,
        # Not retried: the server may have counted the call already, and the caller waits.
        "retry": retry.Retry(backoff.NoBackoff(), 0),
    }
