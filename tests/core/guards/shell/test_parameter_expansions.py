"""`for f in *.md; do ... "${f%.md}.txt"; done`: the names that come out match `*.txt`, where that is certain."""

import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.nodes import NotUnderstood
from toolcharter.guards.shell.parameter_expansions import apply_to_glob

KNOWN = [
    ('for f in *.jpeg; do mv "$f" "${f%.jpeg}.jpg"; done', "*.jpg"),
    ('for f in src/*.ts; do [ -f "${f%.ts}.test.ts" ]; done', "src/*.test.ts"),
    ('for f in *.tar.gz; do cat "${f%.tar.gz}"; done', "*"),
    ('for f in *.tar.gz; do cat "${f%.gz}"; done', "*.tar"),
    ('for f in src/*/a.md; do cat "${f%%.md}.txt"; done', "src/*/a.txt"),
    ('for f in a?.md; do cat "x/${f%.md}"; done', "x/a?"),
]
UNKNOWN = [
    'for f in *.md; do cat "${f%.md}/../../x"; done',
    'for f in *.md; do cat "${f%.txt}.x"; done',
    "for f in *.md; do cat ${f%.md}; done",
    'for f in *.md; do f=/etc/passwd.md; cat "${f%.md}"; done',
    'for f in *.md; do read f; cat "${f%.md}"; done',
    'for f in *.md; do printf -v f /etc/x.md; cat "${f%.md}"; done',
    'for f in *.md /etc/x.md; do cat "${f%.md}"; done',
    'for f in /etc/*.md; do cat "${f%.md}"; done',
    'for f in ../*.md; do cat "${f%.md}"; done',
    'for f in ~/*.md; do cat "${f%.md}"; done',
    'for f in .git/*.md; do mv "$f" "${f%.md}"; done',
    'for f in .*.md; do mv x "${f%.md}"; done',
    'for f in *.md; do bash "${f%.md}"; done',
    'for f in *.md; do "${f%.md}"; done',
    'for f in *.md; do ./"${f%.md}"; done',
    'for f in *.md; do cat "/etc/${f%.md}"; done',
    'for f in *.md; do cat "../${f%.md}"; done',
    'for f in *.md; do cat "~${f%.md}"/x "../y"; done',
    'for f in *.md; do sed "${f%.md}" x; done',
    'for f in *.md; do awk "${f%.md}" x; done',
    'for f in *.md; do sort -o "${f%.md}" x; done',
    'for f in *.md; do cat "-${f%.md}"; done',
    'for f in *.md; do sort "--output=${f%.md}" x; done',
    'for f in *.md; do cat x > "${f%.md}"; done',
    'for f in *.md; do eval "${f%.md}"; done',
    'for f in *.md; do cat "${f%d}"; done',
    'for f in *.md; do cat "${f%.*}/../../x"; done',
    'for f in *.md; do cat "${f%.m?}"; done',
    'for f in *.md; do cat "${f%.[m]d}"; done',
    'for f in *.md; do cat "${f%$x}"; done',
    'for f in *.md; do cat "${f%.md$x}"; done',
    'for f in *.md; do cat "${f#a}"; done',
    'for f in *.md; do cat "${f##*/}"; done',
    'for f in *.md; do cat "${f/a/..}"; done',
    'for f in *.md; do cat "${g%.md}"; done',
    'for f in src/.md; do rm -r "${f%.md}"; done; for f in src/*.md; do rm "${f%.md}/../../x"; done',
    'for f in "*.md"; do cat "${f%.md}$x"; done',
    'for f in $(cat list); do cat "${f%.md}"; done',
    'for f in *.md; do :; done; cat "${f%.md}"',
    'g() { f=/etc/x.md; }; for f in *.md; do g; cat "${f%.md}"; done',
    'cd ..; for f in *.md; do cat "${f%.md}"; done',
    'for f in *.md; do cd src; cat "../../${f%.md}"; done',
]


def needs_of(line: str) -> list[str]:
    """What a rule has to mention, or why no rule can cover the line."""
    try:
        found = analyse((line,), "/srv/ws")
    except NotUnderstood:
        return ["not understood"]
    refusals = [one for one in (found.unsupported, found.unresolved_program, found.catastrophe) if one]
    return [*refusals, *(need.form for one in found.commands for need in one.needs)]


@each_row(("line", "glob"), KNOWN)
def test_names_without_their_ending_match_the_glob_without_it(line: str, glob: str) -> None:
    """A look at the disk goes by the glob."""
    reaches = [reach.path for one in analyse((line,), "/srv/ws").commands for reach in one.reaches]

    assert (needs_of(line), glob in reaches) == ([], True)


@each_row("line", UNKNOWN)
def test_other_endings_and_uses_stay_unknown(line: str) -> None:
    """Another ending, another value, a place outside, a program, an option."""
    assert needs_of(line)


@pytest.mark.parametrize("how", ["%.md", "%%.md", "%.gz", "%.tar.gz", "%.d"])
@pytest.mark.parametrize("glob", ["*.md", "*.tar.gz", "src/*.md", "?.d", "x.*", "*"])
def test_bash_makes_names_that_match(glob: str, how: str, tmp_path: Path) -> None:
    """Whatever is said of a glob holds for each name that bash makes of it, and for the glob itself."""
    (tmp_path / "src").mkdir()
    for name in ("a.md", "b.tar.gz", "src/c.md", "d.d", "x.y", "x.md.md", ".md", "src/.md", "-e.md"):
        (tmp_path / name).touch()
    script = f'for f in {glob}; do printf "%s\\n" "${{f{how}}}"; done'
    names = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    made = apply_to_glob(glob, how)

    assert names
    assert made is None or all(fnmatchcase(name, made) for name in names.splitlines())
