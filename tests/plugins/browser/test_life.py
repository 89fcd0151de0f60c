"""What is left of a real browser when its page hangs, when it crashes, when its toolbox closes, when the harness dies."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.browser.conftest import Hasten, Site, calling

from toolcharter import Toolbox
from toolcharter_browser.folders import sweep

pytestmark = pytest.mark.needs_program("chromium", package="chromium")
PATIENCE_S = 60.0
HARNESS = """
import os, signal, sys
from toolcharter import build_tools
toolbox = build_tools(sys.argv[1], workspace=sys.argv[2], events=[print])
print(toolbox.call("browser", {"action": "open", "url": sys.argv[3]}).outcome, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where browsers of this test alone have their folders, by which their processes are known."""
    with tempfile.TemporaryDirectory(prefix="tc-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def processes(folder: Path) -> dict[int, str]:
    """Those that name *folder* among their arguments or in their environment."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            argv, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if argv and str(folder).encode() in argv + environment and int(entry.name) != os.getpid():
            found[int(entry.name)] = argv.replace(b"\0", b" ").decode(errors="replace")
    return found


def chromium(folder: Path) -> int:
    """The browser's own process, not one of those for its pages."""
    running = processes(folder).items()
    return next(pid for pid, line in running if "--remote-debugging-pipe" in line and "--type=" not in line)


def is_gone(folder: Path) -> bool:
    end = time.monotonic() + PATIENCE_S
    while processes(folder) and time.monotonic() < end:
        time.sleep(0.05)
    return not processes(folder)


def opened(open_box: Callable[..., Toolbox], site: Site, path: str, **policy: Any) -> Toolbox:
    box = open_box(browser={"allowed_private": ["127.0.0.1"], "ports": [site.server_port], **policy})
    made = calling(box)("browser", action="open", url=site.url + path)
    assert made.outcome == "ok", made.text
    return box


def test_nothing_survives_the_toolbox(open_box: Callable[..., Toolbox], site: Site, temporary: Path) -> None:
    """Neither a process nor a file."""
    box = opened(open_box, site, "/")
    assert processes(temporary)
    assert list(temporary.iterdir())

    box.close()

    assert (processes(temporary), list(temporary.iterdir())) == ({}, [])


def test_a_crash_is_told_and_leaves_nothing(
    open_box: Callable[..., Toolbox], site: Site, temporary: Path, hasten: Hasten
) -> None:
    """The next call says so, and the one after it begins anew; so it is with a page that hangs."""
    call = calling(opened(open_box, site, "/", timeout_s=60.0))
    os.kill(chromium(temporary), signal.SIGKILL)

    crashed = call("browser", action="read")
    assert crashed.reason in {"browser_crashed", "no_page"}  # whoever hears of it first
    assert is_gone(temporary)

    site.pages["/hangs"] = ("text/html", b"<p>soon<script>setTimeout(() => { for (;;); }, 100)</script>")
    assert call("browser", action="open", url=f"{site.url}/").outcome == "ok"
    hasten(4.0)
    again = call("browser", action="open", url=f"{site.url}/hangs", delay_ms=500)
    hung = again if again.outcome == "error" else call("browser", action="read")

    assert (hung.outcome, hung.reason) == ("error", "timed_out")
    assert (processes(temporary), list(temporary.iterdir())) == ({}, [])


def test_the_browser_dies_with_the_harness(site: Site, temporary: Path, tmp_path: Path) -> None:
    """Killed, it can clean up nothing; its processes end all the same, and the next one removes its folder."""
    profile = tmp_path / "p.yaml"
    opened = f"{{allowed_private: ['127.0.0.1'], ports: [{site.server_port}]}}"
    profile.write_text(f"profile: p\nrunner: host\ntools:\n  browser: {opened}\n")
    workspace = tmp_path / "ws"
    workspace.mkdir()

    argv = [sys.executable, "-c", HARNESS, str(profile), str(workspace), f"{site.url}/"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)

    assert ended.returncode == -signal.SIGKILL
    assert re.search("^ok$", ended.stdout, re.MULTILINE), ended.stdout + ended.stderr
    assert is_gone(temporary)
    sweep()
    assert list(temporary.iterdir()) == []
