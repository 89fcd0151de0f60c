"""The tables of wrappers, shells, interpreters and little languages, through the judge: what they start, what they need."""

from tests.rows import each_row
from tests.samples import row_params, sample_file, sample_rows

from toolcharter.guards.shell.analyse import Analysis, analyse
from toolcharter.guards.shell.nodes import NotUnderstood
from toolcharter.policy.matching import literal_words
from toolcharter.profile.globs import parse_glob

_WORKSPACE = "/w/ws"
_INNER = "wc -l a"
_STARTS = [
    "env %s",
    "env -i %s",
    "env -u A -i - A=b %s",
    "env --chdir=sub %s",
    "env -S '%s'",
    "env env env %s",
    "nice %s",
    "nice -5 %s",
    "nice -n 5 %s",
    "ionice -c3 -n 1 %s",
    "nohup %s",
    "timeout 5 %s",
    "timeout -s KILL --kill-after=3 5s %s",
    "stdbuf -oL -i 0 %s",
    "setsid -w %s",
    "chrt -f 5 %s",
    "taskset -c 0 %s",
    "command %s",
    "command -p -- %s",
    "builtin %s",
    "exec -a x %s",
    "time %s",
    "time -p %s",
    "eval '%s'",
    "eval %s",
    "eval wc '-l a'",
    "sh -c '%s'",
    "sh -ec '%s' x",
    "sh -c -e -- '%s'",
    "sh -s <<< '%s'",
    "dash <<< '%s'",
    "bash -lc '%s'",
    "bash -o pipefail -c '%s'",
    "bash --norc -c '%s'",
    "zsh -c '%s'",
    "fish -c '%s'",
    "busybox %s",
    "toybox %s",
    "busybox sh -c '%s'",
    "sudo %s",
    "sudo -n %s",
    "sudo -nu root A=b %s",
    "doas -u x %s",
    "gosu x %s",
    "su -c '%s'",
    "su root -c '%s'",
    "su - root --command='%s'",
    "sg x '%s'",
    "runuser -u x -- %s",
    "pkexec --user x %s",
    "chroot / %s",
    "unshare -r --pid %s",
    "nsenter -t 1 -a %s",
    "setpriv --reuid 1 %s",
    "strace -f -e trace=file %s",
    "ltrace -n 2 %s",
    "setarch -R %s",
    "setarch x86_64 -R %s",
    "linux32 %s",
    "ssh-agent %s",
    "dbus-run-session -- %s",
    "xvfb-run -a %s",
    "flock -n l %s",
    "flock l -c '%s'",
    "watch -n1 %s",
    "watch -x %s",
    "script -qc '%s' /dev/null",
    "softlimit -a 5 %s",
    "chpst -m 5 %s",
    "torsocks %s",
    "eatmydata %s",
    "proxychains -q %s",
    "cgexec -g x:y %s",
    "numactl -N 0 %s",
    "systemd-run --user -p A=b %s",
    "rlwrap %s",
    "ssh -p 22 host '%s'",
    "ssh host %s",
    "tar -cf x.tar -I '%s' a",
    "tar -xf x.tar --to-command='%s'",
    "tar -tf x.tar -F '%s'",
    "git submodule foreach --recursive '%s'",
    "git bisect run %s",
    "git rebase -x '%s' main",
    "git rebase --exec='%s' main",
    "sudo timeout 5 nice -n 3 env A=b sh -c '%s'",
]
_NEEDS = {
    "env": ["env"],
    "env -0": ["env", "-0"],
    "env A=b wc": ["A=b"],
    "env -C /etc wc": ["-C", "/etc", "(unknown folder)"],
    "env --weird wc": ["--weird"],
    "nohup wc": ["nohup"],
    "setsid wc": ["setsid"],
    "ionice -p 5 6": ["-p", "6"],
    "exec wc": ["exec"],
    "exec": ["exec"],
    "sudo wc": ["sudo"],
    "flock l -c ls x": ["flock", "-c", "x"],
    "flock l -c": ["flock", "-c"],
    "sudo -e f": ["sudo", "-e", "f"],
    "bash x.sh": ["x.sh"],
    "bash -x x.sh": ["x.sh"],
    "bash -i -c wc": ["-i"],
    "bash --rcfile f -c wc": ["--rcfile", "f"],
    "bash -rcfile f -c wc": ["-rcfile", "f"],
    "bash -O extglob -c wc": ["-O"],
    "bash +x f": ["+x", "f"],
    "sh -V -c wc": ["-V"],
    "zsh -c wc": ["zsh", "-c"],
    "busybox wc": ["busybox"],
    "parallel wc a": ["parallel", "wc", "a"],
    "vi f": ["vi", "f"],
    "less f": ["less"],
    "less '+!wc' f": ["less", "'+!wc'"],
    "less -o /x f": ["less", "-o", "/x"],
    "more +/x f": ["more", "+/x"],
    "man -P sh ls": ["man", "-P", "sh"],
    "perl -e 1": ["-e", "1"],
    "perl -pi.bak -e 1 f": ["-pi.bak", "-e", "1"],
    "perl f.pl": ["f.pl"],
    "ruby -ne 1": ["-ne", "1"],
    "node -pe 1": ["-pe", "1"],
    "node --eval=1": ["--eval=1"],
    "node f.js": ["node", "f.js"],
    "php -r 'x;'": ["-r", "'x;'"],
    "lua -e 1": ["-e", "1"],
    "Rscript -e 1": ["-e", "1"],
    "osascript -e 1": ["-e", "1"],
    "deno eval 1": ["eval", "1"],
    "deno run x": ["run", "x"],
    "deno frob": ["frob"],
    "ps e": ["e"],
    "ps eww": ["eww"],
    "ps auxe": ["auxe"],
    "ps -auxe": ["-auxe"],
    "ps -ge": ["-ge"],
    "ps -axe": ["-axe"],
    "ps -o environ": ["-o"],
    "getent hosts x": ["hosts"],
    "who --lookup": ["--lookup"],
    "sed -i s/a/b/ f": ["-i"],
    "sed -f f": ["-f", "f"],
    "sed --posix p f": ["--posix"],
    "sed p f -e 'w g'": ["'w g'"],
    "sed p /etc/passwd": ["/etc/passwd"],
    "awk -f f": ["-f", "f"],
    "awk -ff": ["-ff"],
    "awk -i inplace 1 f": ["-i", "inplace"],
    "awk -d../f 1": ["-d../f"],
    "awk -d 1": ["-d"],
    "awk -o 1": ["-o"],
    "mawk -W exec f": ["-W"],
    "awk '{print > $1}' f": ["'{print > $1}'"],
    "awk 1 /etc/passwd": ["/etc/passwd"],
    "jq -n env": ["env"],
    "jq -f f": ["-f", "f"],
    "jq . -f": ["-f", "."],
    "jq -rf x": ["-rf", "x"],
    "jq -L . .": ["-L"],
    "jq --rawfile a /etc/passwd .": ["/etc/passwd"],
    "jq --slurpfile a ../b .": ["../b"],
    "jq . --args /etc/passwd": ["/etc/passwd"],
    "xargs -a /etc/passwd": ["/etc/passwd"],
    "xargs -p": ["-p"],
    "xargs -I{} -L1 cat": ["xargs"],
    "xargs -i -l cat": ["xargs"],
    "xargs -I{} -rn1 cat": ["xargs"],
}
_HARMLESS = [
    "nice",
    "command -v wc",
    "time wc a",
    "sh -c 'wc a'",
    "env wc a",
    "timeout 5 wc a",
    "ps",
    "ps aux",
    "ps -ef",
    "ps -p 5",
    "top -bn1",
    "free -h",
    "uptime",
    "getent passwd root",
    "locale -a",
    "tput cols",
    "clear",
    "who -a",
    "deno lint a.ts",
    "sed -n -e 1p -e 's/a/b/' f",
    "sed -nE --expression=p f",
    "awk -F: -v OFS=: '{print $1}' x=1 f",
    "awk -e 1 f",
    "jq -nr --arg a b --argjson c 1 '.a' f",
    "jq --slurpfile a b --indent 2 . f",
    "echo a | xargs",
]


def judged(line: str) -> Analysis:
    return analyse([line], _WORKSPACE)


@each_row("line", [start.replace("%s", _INNER) for start in _STARTS])
def test_what_a_wrapper_starts_is_a_command(line) -> None:
    """Rules and the floor see the inner command, whatever stands around it."""
    assert judged(line).commands[-1].form.removeprefix("A=b ") == _INNER


@each_row(("line", "needs"), _NEEDS.items())
def test_what_has_to_be_named(line, needs) -> None:
    """Every word that does more than the program's ordinary purpose is asked for, and no other."""
    named = [need.form for command in judged(line).commands for need in command.needs]

    assert list(dict.fromkeys(named)) == needs


@each_row("line", _HARMLESS)
def test_ordinary_purpose_needs_nothing(line) -> None:
    """A rule for the program alone covers it."""
    judgement = judged(line)

    assert [need for command in judgement.commands for need in command.needs] == []
    assert (judgement.unresolved_program, judgement.unsupported, judgement.catastrophe) == (None, None, None)


@each_row(
    "line",
    ['sh -c "$x"', "bash", "curl x | sh", 'env -S "$(cat x)"', 'eval "$x"', 'ssh h "$(cat x)"', "xargs sh -c"],
)
def test_source_that_cannot_be_told_is_refused(line) -> None:
    """Nobody can permit what nobody can read."""
    assert judged(line).unresolved_program is not None


@each_row(
    ("line", "inner"),
    [
        ("xargs wc", "wc (input)"),
        ("xargs -n1 -0 -- wc -l", "wc -l (input)"),
        ("xargs -I{} wc {} a", "wc {} a"),
        ("xargs -i wc x{}", "wc 'x{}'"),
        ("fd x -X wc -l", "wc -l (input)"),
        ("fd -e py --exec=wc -l", "wc -l (input)"),
        ("fd -x wc {/.} a", "wc '{/.}' a"),
        ("fd x a -x wc ';'", "wc (input)"),
    ],
)
def test_words_of_the_input_cannot_be_told(line, inner) -> None:
    """What xargs reads becomes words that no rule for the inner command covers without naming them."""
    command = judged(line).commands[-1]

    assert (command.form, [need.why.endswith("cannot be determined") for need in command.needs]) == (inner, [True])


def is_covered(line: str) -> bool:
    """Whether the naive rules of the sample policy cover a line."""
    policy = sample_file("security/policy_P1")
    globs = [parse_glob(rule.removeprefix("bash:")) for rule in policy["allow_globs_naive"]]
    for placeholder, path in {"@WS@": _WORKSPACE, "@OUT@": "/w/outside", "@HOME@": "/home/u"}.items():
        line = line.replace(placeholder, path)
    try:
        judgement = judged(line)
    except NotUnderstood:
        return False
    if judgement.unresolved_program or judgement.unsupported or judgement.catastrophe:
        return False
    return all(
        command.is_transparent
        or any(
            glob.matches(command.form) and {need.form for need in command.needs} <= set(literal_words(glob))
            for glob in globs
        )
        for command in judgement.commands
    )


_CLASSES = frozenset(
    {"sed_script", "awk_script", "jq_flag", "sed_awk_jq", "wrapper", "builtin_eval", "xargs", "env_leak"}
)


@each_row(
    "row",
    row_params(
        [row for name in ("deny", "allow") for row in sample_rows(f"security/shell_{name}") if row["cls"] in _CLASSES]
    ),
)
def test_sample(row) -> None:
    """The sample rows of these kinds come out as they should."""
    assert is_covered(row["cmd"]) is (row["expect"] == "allow")
