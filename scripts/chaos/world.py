"""`World`: PostgreSQL, NATS, two services, a worker and a disk, all real, and the faults of each of them."""

import os
import resource
import secrets
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import yaml
from tests.plugins.nats.servers import NatsServer
from tests.plugins.stores.store_servers import PostgresqlServer

from toolcharter import MCP_RECORDS, McpServerRecord, open_store
from toolcharter_service.auth.principal import Role
from toolcharter_service.auth.tokens import NewToken, create_token
from toolcharter_service.service import DISTRIBUTION

TENANT = "acme"
GRANTED = tuple(f"g{number}" for number in range(4))
"""Agents to whom access to the server `shared` is granted and revoked."""
PROGRAM = Path(sysconfig.get_path("scripts"), "toolcharter")
STARTS_S = 600.0
DISK_MB = 1_000


class World:
    """All processes and files below *folder*; `with running(...)` starts and ends them."""

    def __init__(self, folder: Path, postgresql: PostgresqlServer, *, keeps_tmpfs: bool) -> None:
        self.folder, self.postgresql = folder, postgresql
        self.nats = NatsServer(folder / "nats")
        self.disk = folder / "disk"
        """Holds events and usage."""
        self.disk.mkdir()
        self.is_mounted = keeps_tmpfs and _mounted(self.disk)
        self.full: list[tuple[float, float]] = []
        """The intervals in which there was no room."""
        self.marks = folder / "marks"
        self.far_marks = folder / "repo" / "marks.txt"
        self.url, self.second_url = postgresql.new(), postgresql.new()
        self.ports = [_free_port(), _free_port()]
        self.tokens: dict[str, str] = {}
        self._key = secrets.token_hex(32)
        self._services: list[subprocess.Popen[bytes] | None] = [None, None]
        self._worker: subprocess.Popen[bytes] | None = None

    @property
    def events(self) -> Path:
        """The event file of both services."""
        return self.disk / "events.jsonl"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every process."""
        own = {"XDG_STATE_HOME": str(self.disk / "state"), "HOME": str(self.folder), "TOOLCHARTER_STORE_KEY": self._key}
        return {**os.environ, **own}

    def start(self) -> None:
        """Start all processes, and wait until they are ready."""
        self.nats.start()
        self._write()
        self._fill()
        for number in range(2):
            self.start_service(number)
        self.start_worker()
        self.until_ready()

    def _write(self) -> None:
        for name in ("work", "repo", "far"):
            (self.folder / name).mkdir()
        program = str(Path(__file__).with_name("marks.py"))
        server = {"command": sys.executable, "args": [program, str(self.marks), "marks"]}
        bridge = {"extend": True, "registered": True, "trust": "first", "mark_output": False}
        near = {
            "profile": "near",
            "description": "Leaves marks through MCP servers.",
            "runner": "host",
            "extensions": {
                "mcp_bridge": {**bridge, "servers": {"marks": server}, "backoff_s": 0.5, "max_backoff_s": 2}
            },
            "allow": ["mcp:marks:leave", "mcp:shared:*"],
            "ask": ["mcp:marks:asked"],
            "approvals": {"timeout_s": 900},
            "events": {"required": True},
            "limits": {"timeout_s": 60},
        }
        remote = {"tenant": TENANT, "workspace": "repo", "bus": self.nats.url, "sandbox": False}
        far = {
            "profile": "far",
            "description": "Leaves marks by a program on a worker.",
            "runner": "remote",
            "tools": {"bash": {}},
            "extensions": {"remote": remote},
            "allow": ["bash:echo * >>marks.txt"],
            "events": {"required": True},
            "limits": {"timeout_s": 60},
        }
        agents = {name: {"profile": str(self.folder / "near.yaml"), "workspace": "work"} for name in ("near", *GRANTED)}
        agents["far"] = {"profile": str(self.folder / "far.yaml"), "workspace": "far"}
        served = {
            "store": {"env": "TOOLCHARTER_STORE"},
            "bus": self.nats.url,
            "events": [f"file:{self.events}", self.nats.url],
            "stop_s": 5,
            "tenants": {TENANT: {"agents": agents}},
        }
        here = {"tenant": TENANT, "name": "repo", "folder": "repo", "runner": "host"}
        worker = {"bus": self.nats.url, "slots": 4, "stop_s": 1, "workspaces": [here]}
        for file, content in {"near": near, "far": far, "serve": served, "worker": worker}.items():
            (self.folder / f"{file}.yaml").write_text(yaml.safe_dump(content))

    def _fill(self) -> None:
        os.environ["TOOLCHARTER_STORE_KEY"] = self._key
        shared = McpServerRecord(
            name="shared",
            transport="stdio",
            command=sys.executable,
            args=(str(Path(__file__).with_name("marks.py")), str(self.marks), "shared"),
        )
        with open_store(self.url) as stores:
            stores.bound(TENANT, MCP_RECORDS).put(shared)
            for name, role in (("client", Role.CALLER), ("approver", Role.APPROVER), ("admin", Role.ADMIN)):
                created = create_token(TENANT, NewToken(name=name, roles=(role,)), "chaos")
                stores.bound("", DISTRIBUTION).put(created.record)
                self.tokens[name] = created.text

    def start_service(self, number: int) -> None:
        """Start one of the two services."""
        words = ["serve", "--config", str(self.folder / "serve.yaml"), "--port", str(self.ports[number])]
        with (self.folder / f"serve{number}.log").open("ab") as log:
            self._services[number] = subprocess.Popen(
                [PROGRAM, *words],
                env={**self.environment, "TOOLCHARTER_STORE": self.url},
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    def start_worker(self) -> None:
        """Start the worker of the runner `remote`."""
        with (self.folder / "worker.log").open("ab") as log:
            self._worker = subprocess.Popen(
                [PROGRAM, "worker", "--config", self.folder / "worker.yaml"],
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def until_ready(self, patience_s: float = STARTS_S) -> None:
        """Wait until both services report that all their parts are ready.

        Raises:
            TimeoutError: A service does not.
        """
        end, said = time.monotonic() + patience_s, ""
        for port in self.ports:
            while True:
                try:
                    answer = httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=10, trust_env=False)
                    said = answer.text
                except httpx.HTTPError as error:
                    answer, said = None, type(error).__name__
                if answer is not None and answer.is_success:
                    break
                if time.monotonic() > end:
                    raise TimeoutError(f"the service on port {port} is not ready: {said}")
                time.sleep(0.2)

    def kill(self, number: int) -> None:
        """Kill a service, as a crash of its machine would, and start it again."""
        self._end(self._services[number], signal.SIGKILL)
        time.sleep(1)
        self.start_service(number)

    def restart(self, number: int) -> None:
        """Terminate a service, as its operator would, and start it again."""
        self._end(self._services[number], signal.SIGTERM)
        self.start_service(number)

    def pause(self, number: int, for_s: float) -> None:
        """Suspend a service for longer than its lease lasts."""
        service = self._services[number]
        assert service is not None
        service.send_signal(signal.SIGSTOP)
        time.sleep(for_s)
        service.send_signal(signal.SIGCONT)

    def kill_worker(self) -> None:
        """Kill the worker, and start another one."""
        self._end(self._worker, signal.SIGKILL)
        self.start_worker()

    def stop_postgresql(self, for_s: float) -> None:
        """Stop the database, and start it again."""
        self.postgresql.stop()
        time.sleep(for_s)
        self.postgresql.start()

    def pause_postgresql(self, for_s: float) -> None:
        """Suspend the database with all its processes."""
        server = self.postgresql.server.get_pid()
        assert server is not None
        found = [server, *map(int, Path(f"/proc/{server}/task/{server}/children").read_text().split())]
        for each in found:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGSTOP)
        time.sleep(for_s)
        for each in found:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGCONT)

    def stop_nats(self, for_s: float) -> None:
        """Stop the bus, and start it again."""
        self.nats.stop()
        time.sleep(for_s)
        self.nats.start()

    def pause_nats(self, for_s: float) -> None:
        """Suspend the bus."""
        self.nats.pause()
        time.sleep(for_s)
        self.nats.resume()

    def fill_disk(self, for_s: float) -> None:
        """Keep the disk full for a while."""
        since = time.time()
        self._fill_disk(for_s)
        self.full.append((since, time.time()))

    def _fill_disk(self, for_s: float) -> None:
        """Leave no room for events and usage: by a full disk or, if it may not mount one, by a limit on file sizes."""
        if not self.is_mounted:
            for service in filter(None, self._services):
                resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            time.sleep(for_s)
            for service in filter(None, self._services):
                resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            return
        ballast = self.disk / "ballast"
        until = time.monotonic() + for_s
        with ballast.open("wb", buffering=0) as file:
            while time.monotonic() < until:
                try:
                    file.write(bytes(1_000_000))
                except OSError:
                    time.sleep(0.05)
        ballast.unlink()

    def end(self) -> None:
        """End all processes."""
        for process in (*self._services, self._worker):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                self._end(process, signal.SIGTERM)
        self.nats.stop()
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", self.disk], check=True)

    @staticmethod
    def _end(process: "subprocess.Popen[bytes] | None", how: signal.Signals) -> None:
        assert process is not None
        process.send_signal(how)
        try:
            process.wait(STARTS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


@contextmanager
def running(folder: Path, postgresql: PostgresqlServer, *, keeps_tmpfs: bool) -> Generator[World]:
    """Start a world, and end it afterwards."""
    world = World(folder, postgresql, keeps_tmpfs=keeps_tmpfs)
    try:
        world.start()
        yield world
    finally:
        world.end()


def until(is_so: Callable[[], bool], what: str, patience_s: float = STARTS_S) -> None:
    """Wait until *is_so* returns true.

    Raises:
        TimeoutError: It did not return true in time.
    """
    end = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.2)


def _mounted(place: Path) -> bool:
    """Mount a small disk at *place*; return whether that worked, which it does only for root."""
    options = ["-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0700", "tmpfs", str(place)]
    return os.geteuid() == 0 and subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
