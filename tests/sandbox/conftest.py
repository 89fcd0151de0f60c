"""The sandbox runners that are present, and a host with things to steal, to change and to connect to."""

import os
import secrets
import selectors
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.dockerd import Dockerd, shared

from toolcharter import ProgramRunner, RunnerScope

PROTECTED = (".toolcharter", ".venv/lib/site-packages", "late/settings/policy.yaml")
OpenRunner = Callable[..., ProgramRunner]


def sandbox_runners() -> list[Any]:
    """A parameter for each runner that contains programs, with the programs it needs."""
    needs = {
        "bwrap": [("bwrap", "bubblewrap"), ("perl", "perl-base")],
        "docker": [("dockerd", "docker.io"), ("busybox", "busybox-static"), ("perl", "perl-base")],
    }
    return [
        pytest.param(name, marks=[pytest.mark.needs_program(program, package=package) for program, package in programs])
        for name, programs in needs.items()
    ]


@pytest.fixture(scope="session")
def dockerd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dockerd]:
    """A daemon of our own; needs root."""
    if os.geteuid() != 0:
        pytest.skip("dockerd needs root")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "dockerd"
    with ExitStack() as stack:
        try:
            daemon = stack.enter_context(shared(folder))
        except RuntimeError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(error))
        yield daemon


def _kernel() -> dict[str, str]:
    """Settings of the kernel with which a program could make it run another one."""
    found = {}
    for name in ("core_pattern", "modprobe", "hotplug", "poweroff_cmd", "domainname", "sysrq", "yama/ptrace_scope"):
        with suppress(OSError):
            found[name] = Path("/proc/sys/kernel", name).read_text()
    return found


KERNEL = _kernel()


class Host:
    """A workspace, its surroundings, listeners, and secrets nobody may see; `damage` tells what has happened to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace, self.outside, self.home = root / "ws", root / "out", root / "home"
        self.secret = f"canary-{secrets.token_hex(16)}"
        self.marker = str(10_000_000 + secrets.randbelow(80_000_000))
        """Seconds for a `sleep` that is found again by them."""
        self._files()
        self._stack = ExitStack()
        self._selector = self._stack.enter_context(selectors.DefaultSelector())
        self._is_closed = False
        self.heard: list[str] = []
        self.bystander = self._stack.enter_context(subprocess.Popen(["sleep", "1000000"]))
        self._stack.callback(self.bystander.kill)
        # A descriptor that would be inherited if anybody let it.
        inherited = self._stack.enter_context((self.outside / "secret.txt").open())
        os.set_inheritable(inherited.fileno(), True)  # noqa: FBT003 - its only way
        self.port = self._listen_on_tcp()
        self.unix = self._listen(socket.AF_UNIX, str(self.outside / "s.sock"))
        (self.workspace / "sockets").mkdir()
        self.inner = self._listen(socket.AF_UNIX, str(self.workspace / "sockets/s.sock"))
        self.abstract = f"toolcharter-{secrets.token_hex(8)}"
        self._listen(socket.AF_UNIX, f"\0{self.abstract}")
        self._listen(socket.AF_INET, ("0.0.0.0", self.port), socket.SOCK_DGRAM)
        self._hearing = threading.Thread(target=self._hear)
        self._hearing.start()
        self._before = self._state()

    def fill(self, command: str) -> str:
        """*command* with this host's places in it."""
        places = {
            "ROOT": self.root,
            "WS": self.workspace,
            "OUT": self.outside,
            "HOME": self.home,
            "PORT": self.port,
            "UNIX": self.unix,
            "INNER": self.inner,
            "ABSTRACT": self.abstract,
            "PID": os.getpid(),
            "MARKER": self.marker,
            "BYSTANDER": self.bystander.pid,
            "ADDRESS": _address(),
            "LINK": _link(),
        }
        for name, value in places.items():
            command = command.replace(f"@{name}@", str(value))
        return command

    def damage(self, output: bytes) -> list[str]:
        """What a program has done that it must not, given what it has said."""
        found = [f"connected to {name}" for name in self.heard]
        if self.secret.encode() in output:
            found.append("the secret was read")
        after = self._state()
        found += [f"{key}: {self._before.get(key)!r} -> {after.get(key)!r}" for key in sorted({*self._before, *after})
                  if self._before.get(key) != after.get(key)]  # fmt: skip
        if self.bystander.poll() is not None:
            found.append("a program of the host was ended")
        return found + [f"left running: {line}" for line in self.survivors()]

    def survivors(self) -> list[str]:
        """The programs that are still there, by their marker."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if self.marker.encode() in words:
                    found.append(f"{folder.name} {words}")
        return found

    def close(self) -> None:
        # What did get out must not stay: the next test, and this machine, would have it.
        for name, text in KERNEL.items():
            with suppress(OSError):
                if (file := Path("/proc/sys/kernel", name)).read_text() != text:
                    file.write_text(text)
        self._is_closed = True
        self._hearing.join()
        self._stack.close()

    def _files(self) -> None:
        for folder in (self.workspace / ".git/hooks", self.workspace / ".venv/lib/site-packages", self.outside,
                       self.home / ".aws", self.home / ".ssh", self.root / "ws-old"):  # fmt: skip
            folder.mkdir(parents=True)
        for file in (self.home / ".aws/credentials", self.home / ".ssh/id_ed25519", self.outside / "secret.txt",
                     self.root / "ws-old/secret.txt"):  # fmt: skip
            file.write_text(f"key = {self.secret}\n")
        (self.workspace / ".git/config").write_text("[core]\n")
        (self.workspace / ".venv/lib/site-packages/module.py").write_text("pass\n")
        (self.workspace / "way-out").symlink_to(self.outside)
        (self.workspace / "way-to-secret").symlink_to(self.home / ".aws/credentials")
        (self.workspace / "notes.txt").write_text("notes\n")

    def _listen(self, family: int, address: Any, kind: int = socket.SOCK_STREAM) -> Any:
        listener = self._stack.enter_context(socket.socket(family, kind))
        listener.bind(address)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        self._selector.register(listener, selectors.EVENT_READ)
        return listener.getsockname()

    def _listen_on_tcp(self) -> int:
        """Listen on a port that the kernel gives to nobody by itself.

        Other tests, in other processes, connect to ports that were theirs a moment ago; the kernel hands such ports on.
        """
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        for _ in range(100):
            with suppress(OSError):
                return int(self._listen(socket.AF_INET, ("0.0.0.0", 10_000 + secrets.randbelow(lowest - 10_000)))[1])
        raise RuntimeError("no free port below those that the kernel gives to programs")

    def _hear(self) -> None:
        while not self._is_closed:
            for key, _ in self._selector.select(0.1):
                listener: Any = key.fileobj
                self.heard.append(repr(listener.getsockname()))
                if listener.type == socket.SOCK_DGRAM:
                    listener.recv(1)
                    continue
                connection, _ = listener.accept()
                # Whoever gets here is shown the secret: then it is in the output, too.
                with suppress(OSError), connection:
                    connection.sendall(self.secret.encode())

    def _state(self) -> dict[str, Any]:
        """All that no program may change."""
        state: dict[str, Any] = {"hostname": socket.gethostname(), "links": sorted(Path("/sys/class/net").iterdir())}
        state |= _kernel()
        state["mounts here"] = Path("/proc/self/mountinfo").read_text().count(str(self.root))
        for folder in ("/etc", "/tmp", "/dev/shm", "/var/tmp", "/mnt", "/root", "/usr/local/bin", "/"):
            with suppress(OSError):
                state[f"escapes in {folder}"] = sorted(Path(folder).glob("*agent-escape*"))
        for base in (self.root, self.workspace / ".git", *(self.workspace / path for path in PROTECTED)):
            state |= {str(file): _facts(file) for file in (base, *base.rglob("*")) if self._counts(base, file)}
        return state

    def _counts(self, base: Path, file: Path) -> bool:
        """In the workspace only what is protected does."""
        return base != self.root or not file.is_relative_to(self.workspace)


def _facts(file: Path) -> Any:
    with suppress(OSError):
        facts = file.lstat()
        text = file.read_bytes() if file.is_file() and not file.is_symlink() else b""
        return facts.st_mode, facts.st_uid, facts.st_nlink if file.is_file() else 0, text
    return None


def _address() -> str:
    """This machine's, as others see it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return str(probe.getsockname()[0])
    return "127.0.0.2"


def _link() -> str:
    """The network device that leads outside."""
    routes = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    return next((route[0] for route in routes if route[1] == "00000000"), "nolink0")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    made = Host(tmp_path)
    monkeypatch.setenv("AGENT_TOKEN", made.secret)
    monkeypatch.setenv("HOME", str(made.home))
    yield made
    made.close()


@pytest.fixture
def open_runner(request: pytest.FixtureRequest) -> Iterator[OpenRunner]:
    """Opens a runner by name, as the gate would: from its entry point, with its own policy."""
    opened: list[ProgramRunner] = []

    def open_one(name: str, workspace: Path, protected: tuple[str, ...] = PROTECTED, **policy: Any) -> ProgramRunner:
        if name == "docker":
            daemon: Dockerd = request.getfixturevalue("dockerd")
            policy = {"image": daemon.image, "host": daemon.host} | policy
        spec = _spec_of(name)
        extension = spec.build(workspace, spec.policy.from_profile(policy))
        runner: ProgramRunner = extension.open_runner(RunnerScope(workspace, protected))
        opened.append(runner)
        return runner

    yield open_one
    for runner in opened:
        runner.close()


def _spec_of(name: str) -> Any:
    found = [entry for entry in entry_points(group="toolcharter.extensions") if entry.name == name]
    module = import_module(found[0].value if found else f"toolcharter_{name}")
    if not hasattr(module, "SPEC"):
        pytest.skip(f"there is no runner {name!r} yet")
    return module.SPEC
