"""A world for each test, and servers on HTTP."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.ports import own_port

from .bridge_setup import PYTHON, SERVERS, BridgeSetup, accepts_connections, wait_until


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BridgeSetup]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ExitStack() as stack:
        yield BridgeSetup(tmp_path.resolve(), stack)


@pytest.fixture
def serve() -> Iterator[Callable[..., int]]:
    """Start the SDK's server on a transport of HTTP; its port."""
    with ExitStack() as stack:

        def start(transport: str, port: int | None = None) -> int:
            port = port or own_port()
            process = subprocess.Popen(
                [PYTHON, str(SERVERS / "sdk.py"), transport, str(port)], stderr=subprocess.DEVNULL
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            start.processes.append(process)  # type: ignore[attr-defined]
            wait_until(lambda: accepts_connections(port))
            return port

        start.processes = []  # type: ignore[attr-defined]
        yield start
