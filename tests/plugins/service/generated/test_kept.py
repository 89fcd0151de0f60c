"""How many proposals wait for a review, whoever keeps them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from tests.plugins.stores.store_servers import PostgresqlServer

from toolcharter import StoreTransaction, open_store
from toolcharter_service.generated.records import ToolProposal, store_within_limit
from toolcharter_service.registry.records import ToolRecord

MOST = 2
WORKERS = 4


def proposal(name: str) -> ToolProposal:
    record = ToolRecord.model_validate(
        {"id": name, "name": name, "description": "", "input_schema": {}, "output_schema": {}, "created_by": "agent"}
    )
    whose = {"agent": "bot", "proposed_by": "bot", "user": "", "token_id": "", "call_id": "c"}
    return ToolProposal.model_validate({"id": name, "record": record, "code": "1", "proposed_at": "", **whose})


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_limit_holds_over_workers(engine: str, tmp_path: Path, postgresql: PostgresqlServer) -> None:
    """Each of several workers has looked for the proposal that it keeps before any of them writes."""
    url = postgresql.new() if engine == "postgresql" else f"sqlite://{tmp_path / 'store.sqlite3'}"
    together = Barrier(WORKERS)

    def propose(number: int) -> bool:
        has_waited = False

        def work(each: StoreTransaction) -> object:
            nonlocal has_waited
            each.get(ToolProposal, "another")
            if not has_waited:
                has_waited = True
                together.wait(20)
            return store_within_limit(each, proposal(f"gen_{number}"), MOST)

        with open_store(url) as stores:
            return isinstance(stores.bound("acme", "toolcharter-service").transact(work), ToolProposal)

    with ThreadPoolExecutor(WORKERS) as pool:
        kept = sum(pool.map(propose, range(WORKERS)))

    assert kept == MOST
