"""What the pages show works: their commands run, their files are written, their output is compared.

A page is run from top to bottom in one shell, in a folder that stands for the checkout. A block whose first line is a
comment with a path becomes that file. `sh` blocks must succeed; `console` blocks must print what they show, times,
identifiers and digests aside; `python` blocks must end well; `yaml` blocks must be usable profiles, or parts of one, and
their cases must hold. `yaml ceiling` and `yaml settings` are files that the commands behind them find; `python illustration` and `yaml broken`
are only read, as is `sh illustration`. `python host` runs in `tests/hosts`, beside the framework that it is about. `console bwrap` needs that program: without it the block is left out, and in CI
that is a failure. `pip install` is done by uv from its cache, if that has all of it.
"""

import doctest
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
import uv

from environment import _uv_settings
from pages import ROOT, Block, blocks, pages

# tests/core/cli/test_commands_page.py, tests/core/testing/test_outside.py, tests/plugins/service/test_page.py
ELSEWHERE = {"commands.md", "testing.md", "service.md"}
NEEDED = ("bwrap",)
PURELIB = Path(sysconfig.get_path("purelib"))
SHELL = ("console", "ini", "markdown", "python", "sh", "toml", "yaml")

# Without `--python` uv would look for an environment by itself, and find the one that runs these tests.
PRELUDE = """\
python3() {
    if [ "$1 $2" = "-m venv" ]; then "$UV" venv --quiet --python "$PYTHON" "$3"; else command python3 "$@"; fi
}
pip() {
    if [ -z "$VIRTUAL_ENV" ]; then python3 -m venv "$PLACE/.venv" && . "$PLACE/.venv/bin/activate"; fi
    case "$VIRTUAL_ENV" in
        "$PLACE"/*) set -- "$@" --quiet --python "$VIRTUAL_ENV/bin/python" ;;
        *) echo "no environment of this page's own: '$VIRTUAL_ENV'"; return 1 ;;
    esac
    "$UV" pip "$@" --offline 2>/dev/null || "$UV" pip "$@"
}
status=0
"""

VOLATILE = [
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "MOMENT"),
    (r"\bcall-[0-9a-f]+-\d+", "CALL"),
    (r"\b[0-9a-f]{64}\b", "DIGEST"),
    (r'("elapsed_ms": ?)[\d.]+', r"\1TIME"),
    (r"\bin \d+\.\d+s( \(\d+:\d\d:\d\d\))?", "in TIME"),  # A minute and more pytest also writes as hours.
    (r" {2,}", "  "),  # The width of a column depends on what else is installed.
]


class Step(NamedTuple):
    """One command of a page, and what the page says it prints; None if it says nothing."""

    line: int
    command: str
    expected: str | None


@pytest.mark.parametrize("page", [page for page in pages() if page.name not in ELSEWHERE], ids=lambda page: page.name)
@pytest.mark.needs_program("bash")
@pytest.mark.needs_program("git")
def test_what_a_page_shows_works(page: Path, tmp_path: Path, monkeypatch) -> None:
    """Whoever types what stands there sees what stands there."""
    place = tmp_path / "checkout"
    _stand_in(page, place)
    run_page(page, place)
    monkeypatch.chdir(place)
    assert _doctest(page) == []


def run_page(page: Path, place: Path, replaced: Mapping[str, str] | None = None, timeout_s: float = 1800) -> None:
    """Run *page* in the folder *place*, and compare; what it leaves running is ended.

    Args:
        page: It is read.
        place: A folder that is there; state is kept beside it.
        replaced: Words of the page, and what stands for them here, such as another port.
        timeout_s: When it has to have ended, in seconds.
    """
    out = place.parent / "out"
    out.mkdir()
    text = page.read_text()
    for word, here in (replaced or {}).items():
        text = text.replace(word, here)
    steps = list(_steps(text, out))
    script = PRELUDE + "".join(_scripted(step, out / str(number)) for number, step in enumerate(steps))
    environment = _environment() | {"PLACE": str(place), "XDG_STATE_HOME": str(place.parent / "state")}
    errors = out / "errors"
    with errors.open("w") as stderr:
        running = subprocess.Popen(
            ["bash", "-c", script], cwd=place, env=environment, stdout=stderr, stderr=stderr, start_new_session=True
        )
        try:
            status = running.wait(timeout_s)
        except subprocess.TimeoutExpired:
            status = -1
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    for number, step in enumerate(steps):
        said = out / str(number)
        printed = said.read_text() if said.exists() else f"not reached\n{errors.read_text()}"
        where = f"{page.relative_to(ROOT)}:{step.line}: {step.command}"
        if step.expected is not None:
            assert _stable(printed, place) == _stable(step.expected, place), where
        elif number == len(steps) - 1 or not (out / str(number + 1)).exists():
            assert status == 0, f"{where}\n{printed}\n{errors.read_text()}"


def _stand_in(page: Path, place: Path) -> None:
    """Make *place* a folder like the checkout: a copy, if the page changes the project, else what the page looks at."""
    if page.name == "CONTRIBUTING.md":
        ignored = shutil.ignore_patterns(".*", "__pycache__", "run", "dist")
        shutil.copytree(ROOT, place, ignore=ignored, symlinks=True)
        _install_in(place)
        return
    (place / "run").mkdir(parents=True)
    if page.name == "README.md":  # What `make run` has made is what runs these tests.
        (place / ".venv/bin").mkdir(parents=True)
        (place / ".venv/bin/activate").write_text(f"PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH\n")
    shutil.copytree(ROOT / "profiles", place / "profiles")
    (place / "notes.md").write_text("# Notes")
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", place], check=True)


def _install_in(place: Path) -> None:
    """Make `.venv` of the checkout at *place* from that of this one, whose files it shares: to install all takes a minute."""
    environment = place / ".venv"
    venv.create(environment, symlinks=True)
    site = environment / PURELIB.relative_to(sys.prefix)
    shutil.rmtree(site)
    shutil.copytree(PURELIB, site, copy_function=_share)
    scripts = [file for file in Path(sys.prefix, "bin").iterdir() if not file.is_symlink()]
    for script in scripts:
        if not (environment / "bin" / script.name).exists():
            _share(script, environment / "bin" / script.name)
    for file in (
        *site.glob("_editable_impl_*.pth"),
        *site.glob("*.dist-info/direct_url.json"),
        *environment.glob("bin/*"),
    ):
        words = file.read_bytes()
        if not file.is_symlink() and str(ROOT).encode() in words[:4_096]:
            mode = file.stat().st_mode
            file.unlink()  # The other one of the two that share it stays as it is.
            file.write_bytes(words.replace(str(ROOT).encode(), str(place).encode()))
            file.chmod(mode)


def _share(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # Of another file system.
        shutil.copy2(source, target)


def _environment() -> dict[str, str]:
    not_ours = ("PYTHON", "VIRTUAL_ENV", "PYTEST", "TOOLCHARTER", "ALLOWED_TOOL_PERMS")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(not_ours)}
    path = f"{Path(sys.executable).parent}:{kept['PATH']}"
    ours = {"UV": uv.find_uv_bin(), "PYTHON": sys.executable, "TOOLCHARTER": str(ROOT), "PATH": path}
    ours["PYTEST_ADDOPTS"] = "-p no:schemathesis"  # The developers' own: it imports for half a second.
    settings = _uv_settings(Path(sys.executable)) | {"UV_CONSTRAINT": str(ROOT / "constraints.txt")}
    return kept | settings | ours | {"COLUMNS": "80", "NO_COLOR": "1"}


def _steps(text: str, out: Path) -> Iterator[Step]:
    """The page as commands, in order; contents of files lie in *out* until their turn comes."""
    if "add a tool in ten steps" in text.lower():
        yield Step(0, '. "$PLACE/.venv/bin/activate"', None)
    # Profiles that stand one behind the other are checked together: a start takes half a second.
    profiles: list[Block] = []
    for block in blocks(text):
        if block.language not in SHELL or {"illustration", "host"} & {*block.words} or not _can_run(block):
            continue
        if block.language != "yaml" or block.file in {one.file for one in profiles if one.file}:
            yield from _checks(profiles, out)
            profiles = []
        yield from _steps_of(block, out)
        if block.language == "yaml" and not {"broken", "ceiling", "settings"} & {*block.words}:
            profiles.append(block)
    yield from _checks(profiles, out)


def _can_run(block: Block) -> bool:
    missing = [word for word in block.words if word in NEEDED and shutil.which(word) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"line {block.line}: {missing[0]!r} is missing, and CI is set", pytrace=False)
    return not missing


def _steps_of(block: Block, out: Path) -> Iterator[Step]:
    if block.language == "console":
        yield from _commands(block)
    elif block.language == "sh":
        yield Step(block.line, block.text, None)
    elif block.file is not None or block.language in {"python", "yaml"}:
        kept = out / f"line-{block.line}"
        kept.write_text(_content(block))
        name = _place_of(block, out)
        yield Step(block.line, f"mkdir -p {Path(name).parent}; cp {kept} {name}", None)
        if block.language == "python" and block.file is None:
            yield Step(block.line, f"python - <{name}", None)


def _place_of(block: Block, out: Path) -> str:
    return block.file or f"{out}/line-{block.line}.{block.language}"


def _checks(profiles: list[Block], out: Path) -> Iterator[Step]:
    """No profile of a page has a fault, and its cases pass."""
    for command, checked in (("profiles --check", profiles), ("test", [p for p in profiles if "\ncases:" in p.text])):
        if checked:
            names = " ".join(_place_of(block, out) for block in checked)
            yield Step(checked[0].line, f"toolcharter {command} {names}", None)


def _content(block: Block) -> str:
    if block.language == "markdown":  # Its first line would be a heading.
        return block.text.partition("\n")[2]
    is_part = (
        block.language == "yaml"
        and not {"ceiling", "settings"} & {*block.words}
        and not re.search("^profile:", block.text, re.MULTILINE)
    )
    return f"profile: part\n{block.text}" if is_part else block.text


def _commands(block: Block) -> Iterator[Step]:
    """Each line behind a prompt, with the lines up to the next."""
    line = block.line
    for part in re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE):
        command, _, expected = part.partition("\n")
        if command:
            yield Step(line, command.removeprefix("$ "), expected)
        line += part.count("\n")


def _scripted(step: Step, said: Path) -> str:
    """The step in the shell's words. Each sees the exit status of the one before as `$?`."""
    run = f"(exit $status)\n{step.command.rstrip()}\n"
    if step.expected is None:
        return f"set -e\n{{\n{step.command.rstrip()}\n}} >{said} 2>&1 </dev/null\nset +e\nstatus=0\n"
    return f"{{\n{run}}} >{said} 2>&1 </dev/null\nstatus=$?\n"


def _stable(text: str, place: Path) -> str:
    text = text.replace(f"{place}/", "").replace(f"{ROOT}/", "")
    for pattern, word in VOLATILE:
        text = re.sub(pattern, word, text)
    return text.strip()


def _doctest(page: Path) -> list[str]:
    """Run the `pycon` blocks of *page* as one session; returns what differs."""
    session = "\n".join(block.text for block in blocks(page.read_text()) if block.language == "pycon")
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    return told
