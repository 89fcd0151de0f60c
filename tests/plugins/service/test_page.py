"""What docs/service.md shows works, from `pip install` to a second machine: with PostgreSQL, NATS and a worker."""

from pathlib import Path

import pytest
from tests.plugins.nats.servers import NatsServer
from tests.plugins.stores.store_servers import run_postgresql
from tests.ports import own_port
from tests.test_docs_run import run_page

from pages import ROOT


@pytest.mark.slow
@pytest.mark.needs_program("bwrap")
@pytest.mark.needs_program("jq")
def test_what_the_page_shows_works(tmp_path: Path) -> None:
    """The two machines are two folders."""
    place = tmp_path / "place"
    place.mkdir()
    bus = NatsServer(tmp_path / "nats")
    bus.start()
    try:
        with run_postgresql() as databases:
            replaced = {
                "postgresql://tools@db.example.org/tools": f"'{databases.new(migrated=False)}'",
                "nats://bus.example.org:4222": bus.url,
                "8081": str(own_port()),
            }
            run_page(ROOT / "docs/service.md", place, replaced, timeout_s=1800)
    finally:
        bus.stop()
