"""What others write to the bus: workers and runners take nothing that none of ours has written, and go on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.header_identity import HeaderAuthenticator
from tests.plugins.service.serving import PROFILE, configured, serving

from toolcharter import Bus, StoreHandle, ToolError, open_bus
from toolcharter_service.custom.records import CustomTool
from toolcharter_service.http.app import create_app
from toolcharter_service.registry.reload import RegistryReloader
from toolcharter_service.service import Service
from toolcharter_service.workers.job import (
    ACK_WAIT_S,
    MAX_DELIVERIES,
    RemoteJob,
    ResultAssembler,
    parse_job,
    queue_name,
    serialize_job,
)

from .machines import Machines, job

NO_NUMBERS: list[dict[str, Any]] = [
    {"lease_s": "nan"},
    {"lease_s": "inf"},
    {"lease_s": 1e300},
    {"lease_s": -1},
    {"lease_s": True},
    {"left_s": "nan"},
    {"left_s": 1e300},
    {"left_s": None},
    {"max_output_bytes": -1},
    {"max_output_bytes": 1.5},
    {"limits": {"memory_bytes": "all"}},
    {"limits": {"memory_bytes": -1}},
    {"limits": {"others": 1}},
    {"limits": []},
    {"job_id": "x" * 500},
    {"job_id": ["a"]},
    {"job_id": "../claim"},
    {"caller": "x.y"},
    {"terminal": ["1", 2]},
    {"terminal": [-1, 2]},
    {"argv": 1},
    {"env": []},
    {"hidden": [["a"]]},
    {"stdin": "%%"},
]


def forged(**change: Any) -> bytes:
    """A job with something in it that no runner writes."""
    told = orjson.loads(serialize_job(RemoteJob("0" * 32, job("true"), (), 2.0, needs_sandbox=False, caller="1" * 32)))
    return orjson.dumps({**told, **change})


@pytest.mark.parametrize("change", NO_NUMBERS, ids=str)
def test_a_job_with_what_no_runner_writes_is_none(change: dict[str, Any]) -> None:
    """Rather than one whose lease never ends, or that ends the thread which reads it."""
    assert parse_job(forged()).job_id == "0" * 32
    with pytest.raises(ValueError, match=r"."):
        parse_job(forged(**change))


@pytest.mark.slow
def test_a_worker_outlives_forged_jobs_and_leases(machines: Machines) -> None:
    """As many of each as it has slots, and more; then it runs what a runner asks for."""
    machines.worker()
    bus: Bus = open_bus(machines.server.url)
    queue = bus.queue("acme", queue_name("repo"), ack_wait_s=ACK_WAIT_S, max_deliveries=MAX_DELIVERIES)
    items = [forged(**change) for change in NO_NUMBERS]
    for number, item in enumerate((b"", b"[]", b"null", b"\xff", b"[" * 5000, b"x" * 700_000, *items)):
        assert queue.put(item, item_id=f"forged-{number}")
    bucket = bus._write  # type: ignore[attr-defined] # what any client of the server may write
    for number, document in enumerate((b"", b"[]", b'{"holder": 1}', b'{"holder": "x", "fence": "y"}')):
        bucket("acme", "leases", f"job-{number:032}", document, 60, last=0)
        queue.put(forged(job_id=f"{number:032}"), item_id=f"leased-{number}")
    programs = bus.queue("acme", queue_name("repo", goes_on=True), ack_wait_s=ACK_WAIT_S, max_deliveries=MAX_DELIVERIES)
    for number, change in enumerate(NO_NUMBERS):
        programs.put(forged(**{"goes_on": True, **change}), item_id=f"program-{number}")

    assert machines.runner().run(job("echo", "well")).stdout == b"well\n"
    bus.close()


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        pytest.param([b"o" + b"x" * 600, b"o" + b"x" * 600], "more output", id="more than the program may say"),
        pytest.param([b"x"], "is invalid", id="nothing"),
        pytest.param([b"x[]"], "is invalid", id="no object"),
        pytest.param([b"x{"], "is invalid", id="no JSON"),
        pytest.param([b'x{"exit_code": "0"}'], "is invalid", id="another type"),
        pytest.param(
            [b'x{"kind": "denied", "reason": 1, "message": [], "hint": {}}'], "is invalid", id="a denial of others"
        ),
        pytest.param([b"q"], "is invalid", id="another mark"),
    ],
)
def test_an_outcome_that_no_worker_writes_is_a_lost_worker(chunks: list[bytes], said: str) -> None:
    """It is neither kept in memory without end nor a failure that nobody expects."""
    gathered = ResultAssembler(1000)
    for chunk in chunks[:-1]:
        assert gathered.add(chunk) is None

    with pytest.raises(ToolError, match=said) as refused:
        gathered.add(chunks[-1])

    assert refused.value.reason == "worker_lost"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service whose tenant takes any agent."""
    made = Service(configured(tmp_path, {"*": PROFILE}), stores=StoreHandle(MemoryEngine))
    with serving(create_app(made, auth=HeaderAuthenticator())):
        yield made


@pytest.mark.slow
def test_messages_of_changes_make_no_toolboxes(service: Service) -> None:
    """Whoever can publish could fill the memory with agents that there never were."""
    heard = RegistryReloader.of(service).reload_on_message
    for number in range(20):
        heard("acme", f"agent{number}".encode())
        heard("acme", b"\xff" * number)
        heard(f"tenant{number}", b"")
    assert len(list(service.toolboxes())) == 1

    service.store("acme").put(CustomTool(scope="agent7", name="own", command="echo own"))
    heard("acme", b"agent7")
    assert len(list(service.toolboxes("acme"))) == 2
