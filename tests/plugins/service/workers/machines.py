"""Workers as processes on a real bus, and runners that use them."""

import signal
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any

import yaml
from tests.plugins.nats.servers import NatsServer

from toolcharter import Job, RunnerScope, open_bus
from toolcharter_service.workers.remote import RemotePolicy, RemoteRunner

PATH = {"PATH": "/usr/bin:/bin"}
SOON_S = 60.0


class Machines:
    """Workers on one bus, and runners that use them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self.server = NatsServer(folder / "nats")
        self.server.start()
        self._workers: list[subprocess.Popen[bytes]] = []
        self._runners: list[RemoteRunner] = []

    def worker(self, *, going_on: int = 8, **settings: Any) -> subprocess.Popen[bytes]:
        """Start one."""
        config = self.folder / f"worker{len(self._workers)}.yaml"
        workspace = {"tenant": "acme", "name": "repo", "folder": str(self.workspace), "runner": "host", **settings}
        own = {"bus": self.server.url, "slots": 2, "going_on": going_on, "stop_s": 1, "workspaces": [workspace]}
        config.write_text(yaml.safe_dump(own))
        program = Path(sysconfig.get_path("scripts"), "toolcharter")
        worker = subprocess.Popen(
            [program, "worker", "--config", config], stderr=subprocess.PIPE, start_new_session=True
        )
        assert worker.stderr is not None
        assert b"runs programs for repo" in worker.stderr.readline()
        self._workers.append(worker)
        return worker

    def runner(self, **policy: Any) -> RemoteRunner:
        """Open one."""
        settings = {"workspace": "repo", "tenant": "acme", "bus": self.server.url, "sandbox": False}
        opened = RemoteRunner(
            open_bus(self.server.url), RemotePolicy(**{**settings, **policy}), RunnerScope(self.folder / "elsewhere")
        )
        self._runners.append(opened)
        return opened

    def close(self) -> None:
        """End all."""
        for runner in self._runners:
            runner.close()
        for worker in self._workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGCONT)
                worker.terminate()
        for worker in self._workers:
            worker.wait(SOON_S)
            assert worker.stderr is not None
            worker.stderr.close()
        self.server.stop()


def job(*argv: str, seconds: float = 60, **more: Any) -> Job:
    """A program."""
    return Job(argv, **{"env": PATH, "expires": time.monotonic() + seconds, **more})
