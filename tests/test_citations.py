"""Files of the repository cite only what a reader can open."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rows import each_row

ROOT = Path(__file__).resolve().parent.parent
ENDING = r"\.md"
"""Apart, so that this file does not cite what it forbids."""
PRIVATE = re.compile(
    rf"\b(?:design|lessons|speed|inventory){ENDING}|\b[Ss]ources? (?:00[0-4])|[Ss]ource: (?:design|lessons|speed)\b"
)
GONE = re.compile(
    r"gate[/.](?:passage|obstacles|awaiting|closing|shared|rehearsal|approval|lazily|beginning)\b"
    r"|\b(?:Pass(?:)age|Look(?:)out)\b|Desk of (?:)the gate"
)
"""Modules and classes of the gate that exist no more."""
PAGE = re.compile(rf"\bdocs/[\w-]+{ENDING}")


def _tracked() -> list[Path]:
    """Each text file that git knows; all files where the tests run beside an unpacked archive."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    found = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [path for path in found if path.suffix in {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".sh"}]


def _lines(pattern: re.Pattern[str], *, but: tuple[str, ...] = ()) -> Iterator[str]:
    for path in _tracked():
        name = str(path.relative_to(ROOT))
        if name in but or not path.is_file() or path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if pattern.search(line):
                yield f"{name}:{number}: {line.strip()}"


def test_no_page_outside_the_repository_is_cited() -> None:
    """A comment cites a page of `docs/`, a public standard, or nothing."""
    assert list(_lines(PRIVATE)) == []


def test_modules_that_are_gone_are_not_named() -> None:
    """Pages and docstrings name modules of the gate as they are called now; the changelog tells what was."""
    assert list(_lines(GONE, but=("CHANGELOG.md",))) == []


def test_cited_pages_exist() -> None:
    """Where a docstring names a page of `docs/`, that page exists."""
    sources = [path for path in (ROOT / "core").rglob("*.py") if "commands" not in path.parts]
    cited = {page for path in sources for page in PAGE.findall(path.read_text())}

    assert {page for page in cited if not (ROOT / page).is_file()} == set()
    assert cited


@each_row(
    ("text", "is_private"),
    [
        pytest.param("Source" + ": design" + ".md, section 4", True, id="page"),
        pytest.param("as " + "source" + " 002 has it", True, id="sample"),
        pytest.param("Sources" + " 000 and 001", True, id="samples"),
        pytest.param("Source: " + "lessons, 8", True, id="words"),
        pytest.param("Source: RFC 6890", False, id="standard"),
        pytest.param("docs/architecture.md", False, id="our-page"),
    ],
)
def test_private_pages_are_recognised(text: str, *, is_private: bool) -> None:
    """The pattern finds each way in which such a page was cited, and no public source."""
    assert bool(PRIVATE.search(text)) is is_private
