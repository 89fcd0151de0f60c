"""Separate environments for the peers, below `.venvs`, made by the project's uv."""

import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LIST = "import importlib.metadata as m, sys; print(*(f'{name} {m.version(name)}' for name in sys.argv[1:]), sep=', ')"


_OWN = ("toolcharter", "pydantic", "orjson", "google-re2", "pluggy", "click")


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python and the packages installed for it."""

    name: str
    packages: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """The environment's folder."""
        return ROOT / ".venvs" / f"bench-{self.name}"

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.folder / "bin" / "python" if self.packages else Path(sys.executable)

    def prepare(self) -> None:
        """Make the environment, unless it exists with the same packages."""
        stamp, wanted = self.folder / "bench-packages.txt", " ".join(self.packages)
        if not self.packages or (stamp.is_file() and stamp.read_text() == wanted):
            return
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, self.folder], check=True)
        install: list[str | Path] = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--only-binary=:all:"]
        subprocess.run([*install, "--python", self.python, *self.packages], check=True)
        stamp.write_text(wanted)

    def versions(self) -> str:
        """Return the compared packages with versions: `langchain-core 1.0, structlog 25.1`."""
        if not self.packages:
            return ", ".join(f"{name} {version(name)}" for name in _OWN)
        command: list[str | Path] = [self.python, "-c", _LIST, *self.packages]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True, slots=True)
class HostEnvironment(Environment):
    """The environment of a plugin for a framework, together with the framework; see `scripts/hosts.py`."""

    @property
    def folder(self) -> Path:
        """The environment's folder."""
        return ROOT / ".venvs" / self.name

    def prepare(self) -> None:
        """Make the environment, unless it exists."""
        sys.path.insert(0, str(ROOT / "scripts"))
        prepare_host = import_module("environment").prepare_host
        prepare_host(ROOT / "plugins" / self.name)


OURS = Environment("ours", ())
LANGCHAIN = Environment("langchain", ("langchain-core",))
PYDANTIC_AI = Environment("pydantic-ai", ("pydantic-ai-slim",))
CAREFUL = Environment("careful", ("langchain-core", "structlog", "orjson", "limits"))
OPENAI_AGENTS = Environment("openai-agents", ("openai-agents",))
LLM = Environment("llm", ("llm",))
MCP = Environment("mcp", ("mcp",))
STRANDS = Environment("strands", ("strands-agents",))
HOSTS = (
    HostEnvironment("langchain", ("langchain",)),
    HostEnvironment("pydantic_ai", ("pydantic-ai-slim",)),
    HostEnvironment("strands", ("strands-agents",)),
    HostEnvironment("openai", ("openai-agents",)),
    HostEnvironment("anthropic", ("anthropic",)),
    HostEnvironment("llm", ("llm",)),
)
LIMITS = Environment("limits", ("limits",))
BASHLEX = Environment("bashlex", ("bashlex",))
STRUCTLOG = Environment("structlog", ("structlog", "orjson"))
CONTEXTFORGE = Environment("contextforge", ("mcp-contextforge-gateway",))

PEERS = (LANGCHAIN, PYDANTIC_AI, CAREFUL, OPENAI_AGENTS, LLM, MCP, STRANDS, LIMITS, BASHLEX, STRUCTLOG, CONTEXTFORGE)
