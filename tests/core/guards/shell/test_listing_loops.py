"""Loops over names on disk: which are judged as paths in the workspace, and which stay unknown."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse

WS = "/home/dev/ws"
KNOWN = [
    'for f in $(git ls-files "*.py"); do wc -l "$f"; done',
    'for f in $(find src -name "*.py"); do echo "== $f"; head -3 "$f"; done',
    "for f in $(ls *.md); do grep -c TODO $f; done",
    'git ls-files "*.py" | while read -r f; do wc -l "$f"; done',
    'find . -name "*.sh" -print0 | while IFS= read -r -d "" f; do wc -l "$f"; done',
    'grep -rl foo src | while read f; do echo "$f: $(grep -c foo "$f")"; done',
    'ls -1 | while read -r d; do [[ -d $d ]] && du -sh "$d"; done',
    'for f in $(git ls-files); do grep -n x "$f" | head -3; done',
    'git ls-files | head -5 | while read -r f; do if [ -f "$f" ]; then cat "$f"; fi; done',
    'ls | while read -r f; do head -n 3 "$f"; done',
    'ls | while read f; do cat <"$f" | head -1; done',
    'ls | while read -r d; do [[ -d $d ]] && du -sh "$d"; done',
    'ls | while read -r f; do sed -n 1p "$f" | head -3; done',
]
UNKNOWN = [
    'for f in $(git ls-files); do f=/etc/passwd; cat "$f"; done',
    'for f in $(git ls-files); do read f; cat "$f"; done',
    'for f in $(cat list); do cat "$f"; done',
    'for f in $(git ls-files); do cat "../$f"; done',
    'for f in $(git ls-files); do cat "$f.bak"; done',
    'for f in $(git ls-files); do rm "$f"; done',
    'for f in $(git ls-files); do cat "$f"; done; ln -s /etc/passwd x',
    'for f in $(git ls-files); do "$f"; done',
    'for f in $(git ls-files); do bash "$f"; done',
    'for f in $(git ls-files); do python3 "$f"; done',
    "IFS=/; for f in $(git ls-files); do cat $f; done",
    "for f in $(git ls-files); do IFS=/; cat $f; done",
    'g() { f=/etc/passwd; }; for f in $(ls); do g; cat "$f"; done',
    'trap "f=/etc/passwd" DEBUG; for f in $(ls); do cat "$f"; done',
    'for f in $(ls); do for f in /etc/passwd; do :; done; cat "$f"; done',
    'for f in $(ls); do printf -v f /etc/passwd; cat "$f"; done',
    'for f in $(ls); do command read f; cat "$f"; done',
    'for f in $(ls); do : $((f=1)); cat "$f"; done',
    'for f in $(ls); do cat "$f"; done; cat "$f"',
    'ls | while read f; do head -c1; cat "$f"; done',
    'ls | while read f; do cat - "$f"; done',
    'ls | while read f; do grep "$f"; done',
    'ls | while read f; do grep -e "$f"; done',
    'ls | while read f; do cut -f "$f"; done',
    'ls | while read f; do cat "$f"; done <list',
    'ls | while read f; do cat "$f"; done < <(cat list)',
    'cat list | while read f; do cat "$f"; done',
    'ls | while read f g; do cat "$g"; done',
    'ls | while read -n3 f; do cat "$f"; done',
    'ls | while IFS=/ read f; do cat "$f"; done',
    'ls | { read x; while read f; do cat "$f"; done; }',
    'ls | (head -c1; while read f; do cat "$f"; done)',
    'find . -print0 | while IFS= read -r -d "" f; do cat $f; done',
    'find / -name x | while read f; do cat "$f"; done',
    'find -L . | while read f; do cat "$f"; done',
    'find .. | while read f; do cat "$f"; done',
    'ls | sed s,^,/etc/, | while read f; do cat "$f"; done',
    'for f in $(ls | sed s/a/b/); do cat "$f"; done',
    'for f in $(ls; echo /etc/passwd); do cat "$f"; done',
    'for f in $(ls) /etc/passwd; do cat "$f"; done',
    'for f in /etc/$(ls); do cat "$f"; done',
    'for f in "$(ls)"; do cat "$f"; done',
    'for f in $(cd /etc; ls); do cat "$f"; done',
    'cd src; for f in $(ls); do cat ../"$f"; done',
    'for f in $(ls); do cd src; cat "$f"; done',
    'ls | while read f; do cat "$f" >$f; done',
    'for f in $(ls); do cp "$f" x; done',
    'for f in $(ls); do git add "$f"; done',
    'ls() { echo /etc/passwd; }; for f in $(ls); do cat "$f"; done',
    'for f in $(ls); do cat "${f%x}/../../y"; done',
    "ls | while read IFS; do cat $IFS; done",
    'for f in $(ls); do sort -o "$f" x; done',
    'for f in $(ls); do sort x "$f" -o y; done',
    'ls | while read f; do ls | head -1; head -c1 "$f"; head -c1; done',
    'ls | while read f; do cat "$f"; mapfile f; done',
    'alias ls="cat list"; for f in $(ls); do cat "$f"; done',
    'for f in $(ls) ; do wait -n -p f; cat "$f"; done',
    'for f in `ls`; do cat "$f"; done',
    "ls | while read f; do bash; done",
    'for f in $(git -C /etc ls-files); do cat "$f"; done',
    'X=1 ls | while read f; do cat "$f"; done',
    'LS_COLORS=x ls | while read f; do cat "$f"; done',
    'for f in $(ls --color=always); do cat "$f"; done',
    'for f in $(git ls-files | tee x); do cat "$f"; done',
    "for f in $(git ls-files); do eval cat $f; done",
    "for f in $(git ls-files); do xargs cat $f; done",
    'for f in $(git ls-files); do find "$f" -delete; done',
    'for f in $(git ls-files); do sh -c "cat $f"; done',
    'for f in $(git ls-files); do git show "$f:x"; done',
    'for f in $(ls); do sed "$f" x; done',
    'for f in $(ls); do awk -f "$f" x; done',
    'for f in $(ls); do sed -f "$f" x; done',
    'for f in $(ls); do source "$f"; done',
    'for f in $(ls); do jq -f "$f" x; done',
    'for f in $(ls); do ls | xargs -a "$f" wc; done',
    'for f in $(ls); do awk "$f" x; done',
    'for f in $(ls); do grep x "$f" > "$f"; done',
    'for f in $(ls); do test -v "$f"; done',
    "for f in $(ls); do [[ $f -eq 1 ]]; done",
    'for f in $(ls); do [ "$f" -eq 1 ]; done',
    'for f in $(ls); do printf "$f"; done',
    'for f in $(ls); do printf "$f" x; done',
    'for f in $(ls); do date -f "$f"; done',
    'for f in $(ls); do git diff --output="$f"; done',
    'for f in $(ls); do xargs "$f"; done',
    'for f in $(git ls-files); do sort --files0-from="$f"; done',
    'for f in $(git ls-files); do tar -tf "$f"; done',
    'for f in $(git ls-files); do wc --files0-from "$f"; done',
    'for f in $(ls; cat); do cat "$f"; done',
    'for f in $(ls && cat); do cat "$f"; done',
    'for f in $(ls & cat); do cat "$f"; done',
    'for f in $(git ls-files); do (cd src; cat "$f"); done',
    'for f in $(git ls-files); do git -C src blame "$f"; done',
    'ls | for f in $(cat); do cat "$f"; done',
    'ls | while read -r f; do head -n "$f"; done',
    'ls | while read f; do read g; cat "$f"; done',
    'ls | while read -r f; do echo "$(head -c1)" | cat; cat "$f"; done',
]


def needed(judgement: Analysis) -> list[str]:
    """What a rule has to mention, but `read` and the redirections into files of the line's own."""
    return [need.form for one in judgement.commands for need in one.needs if need.form != "read"]


@each_row("line", KNOWN)
def test_a_loop_over_names_looks_at_them(line: str) -> None:
    """Files that git, find, ls, grep print are looked at by programs that only read, after a look at the disk."""
    judgement = analyse([line], WS)

    assert (needed(judgement), judgement.unsupported, judgement.unresolved_program) == ([], None, None)
    assert "-print0" in line or any(one.listings for one in judgement.commands)
    assert any(one.reaches for one in judgement.commands)


@each_row("line", UNKNOWN)
def test_a_name_that_cannot_be_told_stays_unknown(line: str) -> None:
    """Set again, parted otherwise, listed elsewhere, fed by half a name, changed, run, or an option's value."""
    judgement = analyse([line], WS)

    assert needed(judgement) or judgement.unsupported or judgement.unresolved_program or judgement.catastrophe


@pytest.mark.parametrize(
    ("line", "is_globbed"),
    [('for f in $(git ls-files); do cat "$f"; done', True), ("git ls-files | xargs cat", False)],
)
def test_a_shell_takes_signs_of_a_glob_in_a_name_for_a_glob(line: str, is_globbed: bool) -> None:  # noqa: FBT001 - a row
    """What `$(...)` prints is expanded; xargs expands nothing."""
    listings = [one for command in analyse([line], WS).commands for one in command.listings]

    assert [one.is_globbed for one in listings] == [is_globbed]
