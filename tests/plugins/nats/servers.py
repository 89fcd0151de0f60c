"""A real `nats-server` with JetStream on a free port of loopback."""

import asyncio
import gc
import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import time
import warnings
from pathlib import Path
from typing import Any

import nats
import nats.js.errors
import orjson
from tests.ports import own_port

STARTS_S = 60.0


class NatsServer:
    """It can be stopped, paused and started again; what it keeps lies in *folder*."""

    def __init__(self, folder: Path, *, max_file: str = "200MB") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = own_port()
        self._folder = folder
        self._config = folder / "server.conf"
        self._config.write_text(
            f"listen: 127.0.0.1:{self.port}\n"
            f'jetstream {{ store_dir: "{folder}/js", max_mem: 16MB, max_file: {max_file} }}\n'
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        program = shutil.which("nats-server", path=f"{sysconfig.get_path('scripts')}:{os.defpath}")
        assert program is not None, "nats-server is not installed"
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen([program, "-c", str(self._config)], stdout=log, stderr=log)
        until = time.monotonic() + STARTS_S
        while time.monotonic() < until:
            with socket.socket() as knocking:
                if knocking.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("nats-server does not listen")

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            self._process.wait(STARTS_S)
            self._process = None
        # nats-py leaves a stream open for each attempt to connect that failed: what comes later is not told of them.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

    def pause(self) -> None:
        """Let it answer nothing, with its connections open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        # It has threads on other processors: the last of them stops a little later.
        until = time.monotonic() + STARTS_S
        while not _has_stopped(self._process.pid):
            assert time.monotonic() < until, "the server does not stop"
            time.sleep(0.005)

    def resume(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def received(server: NatsServer, stream: str) -> list[tuple[str, dict[str, Any]]]:
    """All messages of a stream, with their subjects."""

    async def read() -> list[tuple[str, dict[str, Any]]]:
        client = await nats.connect(server.url, connect_timeout=int(STARTS_S))
        js = client.jetstream(timeout=STARTS_S)
        try:
            last = (await js.stream_info(stream)).state.messages
        except nats.js.errors.NotFoundError:
            last = 0
        found = []
        for number in range(1, last + 1):
            message = await js.get_msg(stream, seq=number)
            found.append((message.subject or "", orjson.loads(message.data or b"")))
        await client.close()
        return found

    return asyncio.run(read())


def _has_stopped(pid: int) -> bool:
    """Whether each thread of a process has stopped."""
    tasks = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(task.read_text().rpartition(") ")[2].startswith("T") for task in tasks)
