"""The stores `redis:` and `rediss:`: records, lists and leases in Redis, under the keys that artificial_mind uses."""

from toolcharter import StoreEngine, hookimpl, lazy

engine = lazy("toolcharter_redis.engine")


@hookimpl
def open_store(url: str) -> StoreEngine:
    """Return the engine for `redis://HOST:PORT/DB`, `rediss://...` (with TLS) or `redis:unix:///path` (a socket).

    Raises:
        ValueError: The URL has another form.
    """
    opened: StoreEngine = engine.RedisEngine(url.removeprefix("redis:") if url.startswith("redis:unix:") else url)
    return opened
