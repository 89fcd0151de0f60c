"""Real servers, and toolboxes whose profile names them."""

import json
import socket
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import yaml

from toolcharter import ApprovalRequest, LiveToolbox, Toolbox, build_tools, open_live

SERVERS = Path(__file__).parent / "servers"
PYTHON = sys.executable


class BridgeSetup:
    """A folder with a profile, the orders of a server that does as it is told, and who is asked."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self.orders_file = folder / "orders.json"
        self.asked: list[ApprovalRequest] = []
        self.answer = "allow_once"
        self.events: list[dict[str, Any]] = []
        self.allow = ["mcp:*"]
        self.runner: str | None = "host"
        self._stack = stack

    def orders(self, *tools: Any, **more: Any) -> None:
        """What the server does from now on."""
        named = [{"name": tool} if isinstance(tool, str) else tool for tool in tools]
        written = self.orders_file.with_suffix(".new")
        written.write_text(json.dumps({"tools": named, **more}))
        written.rename(self.orders_file)

    @property
    def raw(self) -> dict[str, Any]:
        """The server that does as it is told, as a profile names it."""
        return {"command": PYTHON, "args": [str(SERVERS / "raw.py"), str(self.orders_file)]}

    @property
    def log(self) -> list[str]:
        """What that server has been asked, and each of its starts."""
        with suppress(FileNotFoundError):
            return self.orders_file.with_suffix(".log").read_text().splitlines()
        return []

    def profile(self, servers: dict[str, Any], **bridge: Any) -> Path:
        settings = {"servers": servers, "trust": "first", "backoff_s": 0.05, "max_backoff_s": 0.2, **bridge}
        written = {
            "profile": "bridged",
            **({"runner": self.runner} if self.runner else {}),
            "extensions": {"mcp_bridge": settings},
            "allow": self.allow,
        }
        path = self.folder / "bridged.yaml"
        path.write_text(yaml.safe_dump(written))
        return path

    def approve(self, request: ApprovalRequest) -> Any:
        self.asked.append(request)
        return self.answer

    def open(self, servers: dict[str, Any], **bridge: Any) -> Toolbox:
        path = self.profile(servers, **bridge)
        box = build_tools(path, workspace=self.workspace, events=[self.events.append], approver=self.approve)
        return self._stack.enter_context(box)

    def live(self, servers: dict[str, Any], *, waits: bool = True, **bridge: Any) -> LiveToolbox:
        path = self.profile(servers, **bridge)
        box = open_live(path, workspace=self.workspace, events=[self.events.append], approver=self.approve)
        live = self._stack.enter_context(box)
        if waits:
            live.settle()
        return live


def accepts_connections(port: int) -> bool:
    with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port), 1)):
        return True
    return False


def wait_until(is_so: Callable[[], Any]) -> None:
    """Wait until something is so, or a minute has passed."""
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)
