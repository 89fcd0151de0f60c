"""Files of `t=$(mktemp)`: written, read and removed without a rule that mentions them, and used for nothing else."""

from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse
from toolcharter.guards.shell.nodes import NotUnderstood

KNOWN = [
    't=$(mktemp); git log > "$t"; sort "$t"; rm -f "$t"',
    't="$(mktemp)"; git log > "$t"; sort "$t"; rm "$t"',
    't=$(mktemp) && git diff >> "$t" && grep -c x "$t"',
    't=$(mktemp); git diff &> "$t"; wc -l < "$t"',
    't=$(mktemp); git diff 2> "$t"; cat "${t}"',
    't=$(mktemp); ls | tee "$t" | wc -l; diff "$t" a',
    't=$(mktemp); [ -s "$t" ] && cat "$t"',
    't=$(mktemp); echo "kept in $t"; cat "$t"',
    "pytest 2>&1 | tee /dev/stderr | wc -l",
    "ls | tee -a /dev/stdout",
    'SECONDS=0; ls; echo "took ${SECONDS}s"',
    'echo "usage: $0 FILE"',
    't=$(mktemp); trap \'rm -f "$t"\' EXIT; git diff > "$t"; wc -l "$t"',
    'trap \'rm -f "$t"\' EXIT; t=$(mktemp); git diff > "$t"',
    'trap \'rm -rf "${t}"\' EXIT\nt=$(mktemp)\ngit diff > "$t"',
    'while read -r x; do [[ $x == a* ]] && echo "$x"; done < a',
    'read -r x < <(ls); [[ $x =~ ^[0-9]+$ ]] && echo "$x"',
    'read -r x < <(ls); [[ -n $x ]] && echo "$x"',
    'read -r a b < <(git log -1); echo "$b $a"',
]
UNKNOWN = [
    't=$(mktemp); echo x > "$t"; cp "$t" a',
    't=$(mktemp); echo x > "$t"; mv "$t" a',
    't=$(mktemp); echo x > "$t"; make -f "$t"',
    't=$(mktemp); echo x > "$t"; pip install -r "$t"',
    't=$(mktemp); echo x > "$t"; python3 < "$t"',
    't=$(mktemp); echo x > "$t"; xargs rm < "$t"',
    't=$(mktemp); echo x > "$t"; xargs -a "$t" rm',
    't=$(mktemp); echo x > "$t"; psql -f "$t"',
    't=$(mktemp); echo x > "$t"; git apply "$t"',
    't=$(mktemp); echo x > "$t"; patch -p1 < "$t"',
    't=$(mktemp); echo x > "$t"; kubectl apply -f "$t"',
    't=$(mktemp); echo x > "$t"; docker compose -f "$t" up',
    't=$(mktemp); echo x > "$t"; pytest "$t"',
    't=$(mktemp); echo x > "$t"; git add --pathspec-from-file="$t"',
    't=$(mktemp); chmod +x "$t"',
    't=$(mktemp); cat "$t" > a',
    't=$(mktemp); bash < "$t"',
    't=$(mktemp); env "$t"',
    't=$(mktemp); find . -exec "$t" {} +',
    't=$(mktemp); rm "$t"; link x "$t"; cat "$t"',
    't=$(mktemp); ln -sf x "$t"; cat "$t"',
    't=$(mktemp); ln x "$t"; cat "$t"',
    't=$(mktemp); cp -P l "$t"; cat "$t"',
    't=$(mktemp); mv l "$t"; cat "$t"',
    't=$(mktemp); t=/etc/passwd; cat "$t"',
    't=/etc/passwd; t=$(mktemp); cat "$t"',
    't=$(mktemp); t+=/../../etc/passwd; cat "$t"',
    't=$(mktemp); cat "$t/x"',
    't=$(mktemp); cat "x$t"',
    't=$(mktemp); cat "${t%/*}"',
    't=$(mktemp); cat "${t:-/etc/passwd}"',
    "t=$(mktemp); cat $t",
    "t=$(mktemp); ls > $t",
    't=$(mktemp); ls > "$t.txt"',
    't=$(mktemp); ls > "$t" 3> "$t"',
    't=$(mktemp); bash "$t"',
    't=$(mktemp); "$t"',
    't=$(mktemp); . "$t"',
    't=$(mktemp); sed -f "$t" a',
    't=$(mktemp); awk -f "$t" a',
    't=$(mktemp); python3 "$t"',
    't=$(mktemp); eval "$t"',
    't=$(mktemp); sh -c "cat $t"',
    't=$(mktemp); cd "$t"',
    't=$(mktemp); cp a "$t/b"',
    't=$(mktemp); sort -o "$t" a',
    't=$(mktemp); git commit -F "$t"',
    't=$(mktemp); jq -f "$t" a',
    't=$(mktemp); xargs -a "$t" cat',
    't=$(mktemp); find . -fprint "$t"',
    't=$(mktemp -d); ls > "$t"',
    't=$(mktemp -u); ls > "$t"',
    't=$(mktemp /etc/x.XXX); cat "$t"',
    't=$(mktemp -p /etc); cat "$t"',
    't=$(mktemp; echo /etc/passwd); cat "$t"',
    't=$(mktemp | sed s,.*,/etc/passwd,); cat "$t"',
    't=x$(mktemp); cat "$t"',
    't=$(mktemp)x; ls > "$t"',
    't=`mktemp`; ls > "$t"',
    'ls && t=$(mktemp); cat "$t"',
    'if ls; then t=$(mktemp); fi; ls > "$t"',
    '(t=$(mktemp)); ls > "$t"',
    't=$(mktemp) & ls > "$t"',
    't=$(mktemp) | ls; ls > "$t"',
    't=$(mktemp) ls > "$t"',
    'ls > "$t"; t=$(mktemp)',
    'PATH=.; t=$(mktemp); ls > "$t"',
    'PATH=$(mktemp); ls > "$PATH"',
    't=$(mktemp); read -r t < a; ls > "$t"',
    't=$(mktemp); for t in /etc/x; do ls > "$t"; done',
    't=$(mktemp); printf -v t /etc/x; ls > "$t"',
    't=$(mktemp); ((t = 1)); ls > "$t"',
    't=$(mktemp); eval "t=/etc/x"; ls > "$t"',
    't=$(mktemp); . a; ls > "$t"',
    't=$(mktemp); trap "t=/etc/x" DEBUG; ls > "$t"',
    "trap 'rm -rf \"$t\"' EXIT; ls; t=$(mktemp)",
    "trap 'rm -f \"$t\"' EXIT; exit; t=$(mktemp)",
    "ls && t=$(mktemp); trap 'rm -f \"$t\"' EXIT",
    "if ls; then t=$(mktemp); fi; trap 'rm -f \"$t\"' EXIT",
    "t=$(mktemp); t=/etc/x; trap 'rm -f \"$t\"' EXIT",
    "t=$(mktemp); trap 'rm -f \"$t\"' EXIT; t=/etc/x",
    "t=$(mktemp); trap 'rm -f \"$t\"' EXIT; read -r t < a",
    "t=$(mktemp); trap 'rm -f \"$t\"' EXIT; for t in /etc/x; do :; done",
    "t=$(mktemp); trap 'rm -f \"$u\"' EXIT",
    "t=$(mktemp); trap 'rm -f \"$t\" x' EXIT; touch",
    "t=$(mktemp); trap 'rm -f $t' EXIT",
    "t=$(mktemp); trap 'rm -f \"$t/x\"' EXIT",
    "t=$(mktemp); trap 'rm -f \"$t\"' DEBUG",
    "t=$(mktemp -p /etc); trap 'rm -f \"$t\"' EXIT",
    "t=$(mktemp) | trap 'rm -f \"$t\"' EXIT",
    "t=$(mktemp); f() { t=/etc/x; }; trap 'rm -f \"$t\"' EXIT; f",
    "t=$(mktemp); trap 'rm -f \"$t\"; reboot' EXIT",
    "t=$(mktemp); trap \"rm -f '$t'\" EXIT",
    "[[ $x =~ a ]]",
    "read -r x < <(ls); [[ -v $x ]]",
    "read -r x < <(ls); [[ $x -eq 1 ]]",
    "read -r x < <(ls); [[ -f $x ]]",
    "read -r x < <(ls); [ $x = a ]",
    'read -r x < <(ls); [ "$x" =~ $y ]',
    "[[ $TOKEN == a* ]]",
    'mktemp() { echo /etc/x; }; t=$(mktemp); ls > "$t"',
    'alias mktemp="echo /etc/x"; t=$(mktemp); ls > "$t"',
    'f() { t=/etc/x; }; t=$(mktemp); f; ls > "$t"',
    "t=$(mktemp); n=$((t)); ls",
    "t=$(mktemp); [[ $t -eq 1 ]]",
    "tee /dev/stdin",
    "ls | tee /dev/stdoutx",
    "ls | tee /dev/stderr/../../etc/x",
    "ls | tee /dev/std*",
    "ls | tee /dev/sda",
    "cp a /dev/stderr",
    "rm /dev/stderr",
    "SECONDS=a; ls",
    'SECONDS="b[$(ls)]"; ls',
    "SECONDS=0 ls",
    "RANDOM=0; ls",
    'cat "$0"',
    'rm "$0"',
    "echo $0",
    'bash -c \'echo "$0"\' "$TOKEN"',
    'read -r a < <(cat list); cat "$a"',
    "read -r a < <(cat list); $a",
    'read -r a < <(cat list); git commit -m "$a"',
    'read -r a < list; echo "$a"',
    'read -r a 3< <(cat list); echo "$a"',
]
KNOWN_PROGRAMS = frozenset(
    {
        "mktemp",
        "git",
        "sort",
        "rm",
        "grep",
        "wc",
        "cat",
        "ls",
        "tee",
        "diff",
        "[",
        "cp",
        "mv",
        "echo",
        "pytest",
        "read",
        "[[",
    }
)


def is_open(line: str) -> bool:
    """Whether rules with stars for some programs cover all of *line*."""
    try:
        found: Analysis = analyse((line,), "/srv/ws")
    except NotUnderstood:
        return False
    if found.unsupported or found.unresolved_program or found.catastrophe:
        return False
    names = {one.program for one in found.commands if not one.is_transparent} - {""}
    needs = {need.form for one in found.commands for need in one.needs}
    return names <= KNOWN_PROGRAMS and needs <= {"mktemp", "read"}


@each_row("line", KNOWN)
def test_a_file_of_the_line_s_own_needs_no_mention(line: str) -> None:
    """A rule for `mktemp` says enough; streams, seconds and what was certainly read may be shown."""
    assert is_open(line)


@each_row("line", UNKNOWN)
def test_what_may_be_another_file_or_runs_stays_unknown(line: str) -> None:
    """Set again, in part, without quotes, elsewhere, perhaps not at all; run, sourced, or an option's value."""
    assert not is_open(line)
