"""What builtins set is known to be text of the line, and may be shown; it stays unknown everywhere else."""

import pytest
from tests.rows import each_row

from toolcharter.gate.commands import analyse_commands
from toolcharter.guards.shell.analyse import analyse
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.rules import parse_rule

SHOWN = [
    'while IFS= read -r line; do echo "> $line"; done <a',
    'cat a | while read -r a b; do printf "%s\\n" "$a" "${b%.x}"; done',
    'IFS=. read -r a b c <<<"1.2.3"; echo "$a.$b.$c"',
    'if read -r x <a; then echo "$x"; fi',
    'read -r x <a && echo "$x"',
    'read -rp ask x <<<y; echo "$x"',
    'readonly x=5; echo "$x"',
    'declare -r x="$(ls)"; echo "$x"',
    'export x=1; echo "$x"',
    'for f in $(git diff --name-only); do echo "$f"; done',
    'for b in $(git branch --format="%(refname:short)" | head -3); do echo "$b"; done',
    'for i in $(seq 1 3); do echo "$i"; done',
    'for f in *.md; do echo "${f%.md}"; done',
    'if out=$(ls); then echo "$out"; else echo "no $out"; fi',
    'if ! out=$(ls); then echo "$out"; fi',
    'while read -r l; do n=$(echo "$l" | wc -c); echo "$l: $n"; done <a',
    'while read -r l; do k="${l%%=*}"; echo "$k is $(grep -c x a)"; done <a',
    'x=a; ls && x=b; echo "$x"',
    'until read -r x <<<y; do ls; done; echo "$HOME $USER ${CI:-no}"',
    '[ -f a ] && n=$(ls) && echo "$n"',
    '[ -f a ] || { n=$(ls); echo "$n"; }',
    'make; echo "${PIPESTATUS[0]} ${PIPESTATUS[@]}"',
    'while read -r x; do [ "$x" = a ] && echo "$x"; done <a',
    "echo $HOME ${USER} shell=$SHELL; echo $PATH | tr : '\\n'; printf '%s\\n' $UID",
    'while read -r x; do case "$x" in a*) echo "$x";; esac; done <a',
]
NOT_SHOWN = [
    'read -r x <a; echo "$x"',
    'read -r x; echo "$x"',
    'read -t 0 x <<<y; echo "$x"',
    'read -u 9 x <<<y; echo "$x"',
    'read -r x <<<y | ls; echo "$x"',
    'ls && read -r x <<<y; echo "$x"',
    'until read -r x <a; do echo "$x"; done',
    'if read -r x <a; then ls; else echo "$x"; fi',
    'while read -r x; do ls; done <a; echo "$x"',
    'while ls; do echo "$x"; read -r x <<<y; done',
    'while read -r l || [ -n "$l" ]; do echo "$l"; done <a',
    "while read -r x; do echo $x; done <a",
    'while read -r x; do echo "$x"; x=$TOKEN; done <a',
    'while read -r x; do echo "$x$TOKEN"; done <a',
    'while read -r x; do echo "${x:-$TOKEN}"; done <a',
    'while read -r TOKEN; do echo "$TOKEN"; done <a',
    'read -r x <<<"$y"; declare -n x=TOKEN; echo "$x"',
    'while read -r x; do echo "${!x}"; done <a',
    'v=x; while read -r "$v"; do echo "$x"; done <a',
    'readonly x=$TOKEN; echo "$x"',
    'declare x; echo "$x"',
    "declare -r 'x'=$TOKEN; echo \"$x\"",
    'local x=$(ls) y; echo "$y"',
    'for f in $(cat a); do echo "$f"; done',
    'for f in $(git ls-files | sed s/a/b/); do echo "$f"; done',
    'for f in $(git ls-files; cat a); do echo "$f"; done',
    'for f in $(git ls-files)$(cat a); do echo "$f"; done',
    'for f in $(git log --format=%s); do echo "$f"; done',
    'for f in $(git branch --format="%(contents)"); do echo "$f"; done',
    'for f in $(docker ps --format "{{.Labels}}"); do echo "$f"; done',
    'for f in $TOKEN; do echo "$f"; done',
    'for f in "$@"; do echo "$f"; done',
    'for f in a b; do ls; done; echo "$f"',
    'if ls; then x=a; else echo "$x"; fi',
    'case a in a) x=b;; b) echo "$x";; esac',
    '{ x=a; } | echo "$x"',
    'y=$TOKEN; x=$y; echo "$x"',
    'x=a; y=$x; x=$TOKEN; echo "$y"',
    'a=$TOKEN; while read -r x; do a=$x; done <a; echo "$a"',
    'echo "$AWS_SECRET_ACCESS_KEY"',
    'PATH=$TOKEN; echo "$PATH"',
    'echo "${HOME:-$TOKEN}"',
    'echo "${PIPESTATUS[x]}"',
    "PWD=x; echo $PWD",
    "echo $HOME/*",
    "IFS=/; echo $HOME",
    "HOME='/etc/*'; echo $HOME",
    "read -r HOME <a; echo $HOME",
    "f() { local HOME='/*'; echo $HOME; }; f",
    "printf $HOME",
    'trap "x=\\$TOKEN" DEBUG; x=a; x=b; echo "$x"',
]


def echoes(line: str) -> list[bool]:
    """Whether each `echo` and `printf` of *line* needs nothing named, in a line that rules may cover."""
    found = analyse((line,), "/srv/ws")
    is_open = found.unsupported is None and found.unresolved_program is None
    return [is_open and not one.needs for one in found.commands if one.program in {"echo", "printf"}]


@pytest.mark.parametrize("line", SHOWN)
def test_what_the_line_has_read_may_be_shown(line: str) -> None:
    """It is what commands of the line print, or what files say that they open."""
    assert all(echoes(line))


@pytest.mark.parametrize("line", NOT_SHOWN)
def test_what_may_come_from_the_environment_is_not_shown(line: str) -> None:
    """Another branch, process or setter, a source that says nothing, or globs that name files elsewhere."""
    assert not all(echoes(line))


@pytest.mark.parametrize(
    "line",
    [
        "cat $HOME",
        "ls $HOME/.ssh",
        "x=$HOME; cat $x",
        "for f in $HOME; do cat $f; done",
        "git commit -m $HOME",
        'while read -r x; do cat "$x"; done <a',
        'while read -r x; do rm -- "$x"; done <a',
        'while read -r x; do cat ./"$x"; done <a',
        "while read -r x; do $x; done <a",
        'while read -r x; do eval "$x"; done <a',
        'while read -r x; do sh -c "$x"; done <a',
        'while read -r x; do ls >"$x"; done <a',
        'while read -r x; do git commit -m "$x"; done <a',
        'while read -r x; do git commit -m "$(date) $x"; done <a',
        'while read -r x; do [ "$x" -gt 3 ]; done <a',
        'while read -r x; do [ -f "$x" ]; done <a',
        'while read -r x; do test -v "$x"; done <a',
        'while read -r x; do [[ "$x" -gt 3 ]]; done <a',
        'while read -r x; do printf "$x"; done <a',
        'while read -r x; do printf -v "$x" a; done <a',
        'while read -r x; do sed "$x" a; done <a',
        'while read -r x; do cd "$x"; ls; done <a',
        'for f in $(git diff --name-only HEAD~1); do cat "$f"; done',
        'for b in $(git branch); do git log "$b"; done',
        'x=a; ls && x=b; cat "$x"',
        'if x=$(ls); then cat "$x"; fi',
        'x=$(cat a); if ls; then x=$(date); fi; git commit -m "$x"',
        'if ls; then x=$(cat a); git commit -m "$x"; fi',
    ],
)
def test_what_the_line_has_read_stands_nowhere_else(line: str) -> None:
    """It may begin with a dash, hold a path, a subscript or a secret."""
    found = analyse((line,), "/srv/ws")
    inner = [one for one in found.commands if one.program not in {"read", ""}]

    assert found.unsupported or found.unresolved_program or any(one.needs for one in inner)


def uncovered(line: str) -> str:
    """What a rule of each of the commands but those that set variables would have to mention, and why."""
    known = analyse_commands((line,), "/srv/ws")
    names = ("echo", "cat", "ls", "wc", "grep", "true")
    rules = [parse_rule(f"bash:{name}{end}", "p:1:1") for name in names for end in ("", " *")]
    decision = (
        Policy((), rules)
        .for_tool(ToolFacts("bash", "bash", (), frozenset(), frozenset({"proc:exec"})))
        .decide(RuleInput(None, {}, known.commands, known.refusal, known.needs, known.unsupported))
    )
    return "" if decision.outcome == "allow" else decision.message or "denied"


@each_row(
    "line",
    [
        'while read -r line; do echo "$line"; done <notes.md',
        "read -r a b <<<'x y'; echo \"$a\"",
        "read -rp 'Name: ' name <<<x; echo \"$name\"",
        'mapfile -t lines < <(ls); echo "${#lines[@]}"',
        'readarray -t lines <notes.md; echo "${#lines[@]}"',
        'declare -r n=3; echo "$n"',
        'readonly now="$(ls)"; echo "$now"',
        'f() { local name=$1; echo "$name"; }; f x',
        'readonly file=notes.md; cat "$file"',
        "export CI=true; ls",
        "export NODE_ENV=test NO_COLOR=1; ls",
    ],
)
def test_what_sets_variables_of_the_line_needs_no_rule(line: str) -> None:
    """As `x=1` needs none: the value is text for the line's other commands, which are judged."""
    assert uncovered(line) == ""


@each_row(
    "line",
    [
        "read -r PATH <notes.md; ls",
        "read -r LD_PRELOAD <notes.md; ls",
        "read -ra BASH_ENV <notes.md; ls",
        "read -r git_dir <notes.md; ls",
        "read -r IFS; ls",
        "read; ls",
        "read -r 'a[$(ls)]' <notes.md; ls",
        'read -r "$x" <notes.md; ls',
        "read -r $x <notes.md; ls",
        "read -r x </etc/passwd; ls",
        "read -r x <../notes.md; ls",
        "mapfile -t PATH <notes.md; ls",
        "mapfile -t -C 'rm x' -c 1 lines <notes.md; ls",
        "mapfile; ls",
        "declare -x lines=3; ls",
        "declare -n x=PATH; x=.; ls",
        "declare -i x='a[$(rm x)]'; ls",
        "declare -f; ls",
        "declare -p; ls",
        "declare PATH=.; ls",
        "typeset LD_PRELOAD=./x.so; ls",
        "readonly BASH_ENV=./x; ls",
        "readonly x PATH; ls",
        "export x=3; ls",
        "export CI=$(ls); ls",
        "export CI=true PATH=.; ls",
        "export CI; ls",
        "export -p; ls",
        "export NODE_ENV=x; ls",
        "local 'x=3 PATH=.'$y; ls",
        "unset x; ls",
        "read x",
        "declare x=3",
    ],
)
def test_what_sets_anything_else_needs_one(line: str) -> None:
    """And a line that does nothing but set a variable is no harmless line of a rule's."""
    assert uncovered(line) != ""
