"""A restore into Redis that is killed while it writes: what was there stays, and the next one deletes what it has left."""

from collections.abc import Iterator

import pytest
import redis
from tests.plugins.stores.store_servers import REDIS, RedisServer, Rows, process, row, run_redis

from toolcharter import ExportedItem, ExportedRow, Scope, open_store
from toolcharter_redis.names import LOCK_KEY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(REDIS is None, reason="redis-server is not installed: apt-get install redis-server"),
]
RESTORING = """
from toolcharter import ExportedRow
from toolcharter_redis import replacement
class Content:
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def __iter__(self):
        for n in range(900):
            yield ExportedRow(scope, "tool", NewRow((str(n),), "{}", {}, "", ()), 1, n + 1)
keep = replacement.Lock.keep
def kept(self):
    keep(self)
    if self._client.keys("toolcharter:[*]:*:key:*"):
        print("written", flush=True)
        time.sleep(600)
replacement.Lock.keep = kept
engine.replace_all(Content())
"""


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A server of this test alone."""
    with run_redis() as places:
        yield places


def test_a_restore_that_is_killed_leaves_nothing_for_good(server: RedisServer) -> None:
    """Nobody sees its part of the new content, and the next restore has none of it."""
    url, scope = server.new(), Scope("acme", "acme-tests")
    client = redis.Redis.from_url(url.removeprefix("redis:"))
    with open_store(url) as store:
        rows = Rows(store.engine, scope)
        rows.put("note", row("there"))
        with store.engine.export() as export:
            before = list(export)
        with process(RESTORING, url, scope) as killed:
            assert killed.stdout is not None
            assert killed.stdout.readline() == "written\n"
            killed.kill()
            killed.wait()
        client.delete(LOCK_KEY)  # It ends by itself after ten seconds.
        with store.engine.export() as export:
            assert list(export) == before
        assert client.keys("toolcharter:[*]*") != []

        with open_store(server.new()) as other:
            Rows(other.engine, scope).put("note", row("new"))
            Rows(other.engine, scope).transact(lambda each: each.push("list", "1", cap=2))
            store.engine.replace_all(other.engine.export())
        with store.engine.export() as export:
            found = list(export)

    assert [each.row.key for each in found if isinstance(each, ExportedRow)] == [("new",)]
    assert [each.item for each in found if isinstance(each, ExportedItem)] == ["1"]
    assert client.keys("toolcharter:[*]*") == []
    client.close()
