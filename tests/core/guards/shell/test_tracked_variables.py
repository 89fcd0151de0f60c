"""Names, numbers and parts of paths that lines of agents keep in variables, beside what only looks like them."""

from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse
from toolcharter.guards.shell.nodes import NotUnderstood

WS = "/home/dev/ws"
KNOWN = [
    'latest=$(ls -t logs/*.log | head -1); tail -n 20 "$latest"',
    'latest=$(ls -t logs/*.log | head -1); tail -n 20 $latest; echo "$latest"',
    "files=$(git ls-files '*.py'); wc -l $files",
    "files=$(git ls-files '*.py'); for f in $files; do wc -l \"$f\"; done",
    'files=$(find src -name \'*.py\'); for f in $files; do head -3 "$f"; done; echo "$files" | wc -l',
    'files=$(grep -rl TODO src); [ -n "$files" ] && grep -n TODO $files',
    "f=$(find . -name 'test_*.py' | sort | head -n 1) && wc -l \"$f\"",
    "files=$(git diff --name-only --diff-filter=d | grep '\\.py$'); ruff check $files",
    "find src -type f | xargs grep -l x | xargs wc -l",
    "git ls-files '*.py' | xargs grep -l 'import requests' | xargs -n1 basename | sort",
    "grep -rl foo . --include='*.py' | xargs wc -l",
    "docker ps -q | xargs docker inspect --format '{{.Name}}'",
    'cid=$(docker ps -qf name=web); docker logs --tail 20 "$cid"',
    "pod=$(kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}'); kubectl logs \"$pod\" --tail=20",
    'sha=$(git log -1 --format=%H -- package.json); git show --stat "$sha"',
    'd=$(dirname src/app/main.py); ls "$d"',
    'b=$(basename src/a.py .py); wc -l "$b.md"',
    'sleep 1 & p=$!; echo "$p" $!',
    "pytest -q 2>&1 | tail -5; exit ${PIPESTATUS[0]}",
    'n=$(grep -c ERROR app.log || true); [ "${n:-0}" -gt 0 ] && echo "$n errors"',
    "n=$(grep -c TODO a.py); echo $((${n:-0} + 1))",
    'jobs=$(nproc); make -j"$jobs" test',
    "[[ -n ${CI:-} ]] && echo ci || echo local",
    '[ -z "$DEBUG" ] && echo quiet',
    "trap 'echo stopping; exit 130' INT TERM; npm run build",
    'todo=(); todo+=("one"); printf -- \'- %s\\n\' "${todo[@]}"',
    'MODULES="auth users"; for m in $MODULES; do ls "src/$m"; done',
    'NAME=app; MAX=10; echo "$NAME $MAX"',
    'for f in $(git ls-files \'*.sh\'); do bash -n "$f" && echo "$f ok"; done',
]
NAMES_THAT_MAY_BE_OTHERS = [
    'files=$(git ls-files); wc -l "$files"',
    'files=$(ls); cat "$files"',
    'latest=$(ls -t | head -1); latest=/etc/passwd; cat "$latest"',
    'latest=$(ls -t | head -1); read -r latest <<< /etc/passwd; cat "$latest"',
    'latest=$(ls -t | head -1); printf -v latest /etc/passwd; cat "$latest"',
    'latest=$(ls -t | head -1); (read -r latest <<< /etc/passwd; cat "$latest")',
    'latest=$(ls -t | head -1); cat "/etc/$latest"',
    'latest=$(ls -t | head -1); cat "../$latest"',
    'latest=$(ls -t | head -1); cd ..; cat "$latest"',
    'latest=$(ls -t | head -1); cd src; cat "$latest"',
    'latest=$(ls -t | head -1); rm x; cat "$latest"',
    'latest=$(ls -t | head -1); cp "$latest" ../x',
    'latest=$(ls -t /etc | head -1); cat "$latest"',
    'latest=$(ls -t .. | head -1); cat "$latest"',
    'latest=$(cat list | head -1); cat "$latest"',
    'latest=$(ls -t | head -1)/../../x; cat "$latest"',
    'latest=$(ls -t | head -1); latest+=/../../x; cat "$latest"',
    'latest=$(ls -t | head -1); "$latest"',
    "latest=$(ls -t | head -1); $latest",
    'latest=$(ls -t | head -1); bash "$latest"',
    'latest=$(ls -t | head -1); . "$latest"',
    'latest=$(ls -t | head -1); eval "$latest"',
    'latest=$(ls -t | head -1); for i in 1 2; do cat "$latest"; latest=/etc/passwd; done',
    'for i in 1 2; do latest=$(ls -t | head -1); cat "$latest"; done; cat /etc/passwd',
    'if true; then latest=$(ls -t | head -1); fi; cat "$latest"',
    'latest=$(ls -t | head -1) & cat "$latest"',
    "IFS=/; latest=$(ls -t | head -1); cat $latest",
    'f() { latest=/etc/passwd; }; latest=$(ls | head -1); f; cat "$latest"',
    'latest=$(ls -t | head -1); ln -s /etc e; cat "$latest"',
    'latest=$(ls | xargs cat | head -1); cat "$latest"',
    "latest=$(ls; cat f); cat $latest",
    'latest=$(ls -t | head -1); unset latest; cat "$latest"',
    'latest=$(ls -t | head -1); : "${latest:=/etc/passwd}"; cat "$latest"',
    'latest=$(ls | head -1); declare -n latest=y; cat "$latest"',
    'latest=$(ls | head -1); mapfile -t latest < f; cat "$latest"',
    'latest=$(ls | head -1); getopts a latest; cat "$latest"',
    'latest=$(ls | head -1); ((latest=1)); cat "$latest"',
    'latest=$(ls | head -1); cat "${latest/a//etc}"',
    'latest=$(ls | head -1); cat "${latest%/*}/../../x"',
    'latest=$(ls | head -1); rm -rf "$latest"',
    'latest=$(ls | head -1); git commit -F "$latest"',
    'latest=$(ls | head -1); wait -p latest; cat "$latest"',
    'latest=$(ls | head -1); cat < "$latest"; cat < "../$latest"',
    'latest=$(find / -name x | head -1); cat "$latest"',
]
HOSTILE = [
    'x=x; b=$(basename a/..x "$x"); ls "$b"',
    'b=$(basename a/..x x); ls "$b"',
    "b=$(basename a/..x $x); ls $b",
    "b=$(basename a/..x ?); ls $b",
    'd=$(dirname a/b "$x"); ls "$d"',
    "git ls-files | xargs grep -l x | xargs rm -rf /",
    "find / -name x | xargs grep -l x | xargs wc -l",
    "find src | xargs grep -l x /etc/passwd | xargs cat",
    "find src | xargs grep -l -f /etc/passwd | xargs cat",
    "find src | xargs grep -n x | xargs cat",
    "find src | xargs grep -lr x .. | xargs cat",
    "find src | xargs grep -le x y | xargs cat",
    "find src -print0 | xargs -0 grep -l x | xargs cat",
    "find src | xargs -I{} grep -l x {} ../y | xargs cat",
    "find src | xargs sed -n p | xargs cat",
    "kill -9 -1; sleep 1 & kill -1 $!",
    "x='$(reboot)'; y=${x:-0}; echo $((y))",
    "read -r n < <(cat f); echo $((${n:-0} + 1))",
    "n=$(cat f); [[ ${n:-0} -gt 1 ]]",
    "n=$(cat f); echo $(( ${n:-0} ))",
    't=$(mktemp); echo x > "${t:-0}"',
    "sleep 1 & a[$!]=1; a[$(reboot)]=2",
    'd=$(dirname ../x); cat "$d/y"',
    'd=$(dirname a/../../b); ls "$d"',
    'b=$(basename ..); ls "$b"',
    'b=$(basename a/..); cat "$b/x"',
    'b=$(basename x/-o); sort "$b" f',
    'b=$(basename -a x); cat "$b"',
    'b=$(basename x.py .py); "$b"',
    "b=$(basename x/rm); $b -rf /",
    'dirname() { echo /etc; }; d=$(dirname a/b); ls "$d"',
    'for i in 1 2; do d=$(dirname a/b); ls "$d"; dirname() { echo /etc; }; done',
    '[ -n "$x" -a -v "$x" ]',
    "[ -v 'a[$(reboot)]' ]",
    "[[ -v a[$(reboot)] ]]",
    "[[ -n ${a[$(reboot)]} ]]",
    '[ -z "${x:=/etc}" ]',
    "[[ -n ${!x} ]]",
    "[[ -n ${x@P} ]]",
    "[[ -z ${FOO:+$(rm x)} ]]",
    "set -x; [[ -n $SECRET ]]",
    '[ -n "$SECRET" ] && echo "$SECRET"',
    '[[ $SECRET == a* ]] && [ -n "$SECRET" ]',
    "trap 'cat /etc/passwd' INT; ls",
    "trap 'cd ..' INT; cat x",
    "trap 'x=/etc' TERM; x=a; cat \"$x\"",
    "trap 'echo hi' CHLD; ls",
    "trap 'echo \"$SECRET\"' INT; ls",
    "printf -- '%s' \"$SECRET\"",
    "printf -v 'a[$(reboot)]' x",
    'a=(x); printf -v a /etc/passwd; cat "${a[0]}"',
    'a=(x); printf -- -v a /etc; cat "${a[0]}"',
    'a=(x); printf -- \'%s\\n\' "${a[@]}"; printf -v a /etc; cat "${a[@]}"',
    "docker ps -q | xargs rm",
    "docker ps -q | xargs docker rm -f",
    "docker ps -q | xargs docker inspect | xargs cat",
    "docker ps -qf name=web | xargs docker exec sh",
    "docker ps --format '{{.Command}}' | xargs docker inspect",
    "kubectl get secrets -o jsonpath='{.items[0].metadata.name}'",
    "p=$(kubectl get pods -o jsonpath='{.items[0].metadata.annotations}'); kubectl logs \"$p\"",
    "p=$(kubectl get secrets -o jsonpath='{.items[0].metadata.name}'); kubectl get \"$p\"",
    "git config user.email evil@example.com",
    "git config core.pager 'touch x'",
    "git config credential.helper",
    "git config --global user.email",
    "git config -f ../x user.email",
    "git ls-files | xargs npx eslint -c /etc/x.js",
    "git ls-files | xargs npx eslint --fix",
    "git ls-files | xargs bash -n",
    "git ls-files | xargs bash",
    'for f in $(git ls-files); do bash "$f"; done',
    'for f in $(git ls-files); do bash -n "$f" x; done',
    'for f in $(git ls-files); do sh -n +n "$f"; done',
    "declare -n r=PATH; r=.; ls",
    'x=$(ls | head -1); declare -n x=y; y=/etc; cat "$x"',
    "x='a[$(reboot)]'; read \"$x\" <<< 1",
    "read 'a[$(reboot)]' <<< 1",
    "echo ${PIPESTATUS[$(reboot)]}",
    "exit ${PIPESTATUS[1]}; ls -l ${PIPESTATUS[@]}",
    "exit ${PIPESTATUS[0]}/../../x",
    "MODULES='/etc/*'; for m in $MODULES; do ls \"$m\"; done",
    "MODULES='a ../x'; for m in $MODULES; do ls \"$m\"; done",
    "MODULES='-R /'; for m in $MODULES; do ls $m; done",
    'NAME=/etc/passwd; cat "$NAME"',
    'SRC=..; ls "$SRC"',
    "MAX='a[$(reboot)]'; echo $((MAX))",
    'sha=$(git log --format=%H%n%s -- x); git show "$sha"',
    'sha=$(git log --format=%s -- x); git show "$sha"',
    "grep -rl x . --include='*.py' --file=/etc/passwd | xargs cat",
    "grep -rl x .. --include='*.py' | xargs cat",
]


def asks_for_nothing(found: Analysis) -> bool:
    """Whether rules for the programs cover all of it."""
    known = not (found.catastrophe or found.unresolved_program or found.unsupported)
    return known and not any(one.needs for one in found.commands)


@each_row("line", KNOWN)
def test_what_a_line_keeps_is_known(line: str) -> None:
    """A name on disk, a number, a name of somebody's, a text of the line's own."""
    assert asks_for_nothing(analyse([line], WS))


@each_row("line", NAMES_THAT_MAY_BE_OTHERS)
def test_a_variable_of_names_holds_them_to_the_end(line: str) -> None:
    """Whatever may set it, move the line or change what there is leaves it unknown."""
    assert not asks_for_nothing(analyse([line], WS))


@each_row("line", HOSTILE)
def test_what_only_looks_like_them_is_not_covered(line: str) -> None:
    """A path outside, the floor, a name from the environment, a text that is evaluated."""
    try:
        found = analyse([line], WS)
    except NotUnderstood:
        return
    assert not asks_for_nothing(found)


def test_names_in_a_variable_are_looked_at_on_disk() -> None:
    """As those in a loop over the same command are."""
    kept = analyse(['f=$(ls -t logs/*.log | head -1); tail -n 20 "$f"'], WS).commands
    (looped,) = {
        one.listings
        for one in analyse(['for f in $(ls -t logs/*.log); do tail "$f"; done'], WS).commands
        if one.listings
    }

    assert [one.listings for one in kept if one.listings] == [looped]
    assert [(one.path, one.is_pattern) for one in kept[-1].reaches] == [("logs/*.log", True)]


def test_linters_that_npx_starts_get_the_names_that_xargs_reads() -> None:
    """A rule has to mention the linter alone; the command that it starts is still seen."""
    found = analyse(["git ls-files '*.ts' | xargs npx eslint"], WS)

    assert [[need.form for need in one.needs] for one in found.commands] == [[], [], ["eslint"], []]
    assert [one.form for one in found.commands][-1] == "eslint (input)"


def test_what_bash_shows_is_asked_for_beside_other_commands() -> None:
    """No command is passed over of which something has to be mentioned."""
    (first, *_) = analyse(["set -x; y=$TOKEN; ls"], WS).commands

    assert ([need.form for need in first.needs], first.is_transparent) == (["-x"], False)


def test_a_part_of_a_path_is_no_word_where_bash_may_part_it() -> None:
    """`IFS=a` makes the two words `x` and `..` of what `dirname xa../y` prints, unless that stands in quotes."""
    unquoted, quoted = (
        analyse([f"IFS=a; ls {one}"], WS).commands for one in ("$(dirname xa../y)", '"$(dirname xa../y)"')
    )

    assert [bool(one.needs) for one in unquoted] == [True, False, True]
    assert [bool(one.needs) for one in quoted] == [True, False, False]
