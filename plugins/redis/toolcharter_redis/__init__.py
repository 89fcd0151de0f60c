"""The stores `redis:` and `rediss:`: records, lists and leases in Redis, under the keys that artificial_mind uses."""

from toolcharter import StoreEngine, hookimpl, lazy

engine = lazy("toolcharter_redis.engine")


@hookimpl
def open_store(url: str) -> StoreEngine:
    """The engine for `redis://HOST:PORT/DB` and, over TLS, `rediss://...`; a socket is `redis:unix:///path`.

    Raises:
        ValueError: The URL has another form.
    """
    opened: StoreEngine = engine.RedisEngine(url.removeprefix("redis:") if url.startswith("redis:unix:") else url)
    return opened
