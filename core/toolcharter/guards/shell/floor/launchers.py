"""Programs that start the program among their words, however many of them stand in a row.

The floor looks through them on its own, so that it holds for those that no table looks through, too.
"""

import re
from typing import NamedTuple

from toolcharter.guards.shell.parts import Command, Word

_MAX_DEPTH = 32
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class Launcher(NamedTuple):
    """How to find the program that another one starts."""

    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    operands: int = 0
    """How many operands stand before the program."""
    is_text: bool = False
    """Whether the words are joined and read by a shell."""


def _launcher(valued: str = "", operands: int = 0, *, is_text: bool = False) -> Launcher:
    return Launcher(frozenset(valued.split()), operands, is_text)


# Source: the manuals of util-linux 2.39, coreutils 9.1, sudo 1.9, opendoas 6.8, procps 4, findutils 4.9, OpenSSH 9,
# busybox 1.36, docker 24, kubectl 1.28, GNU parallel 2023, strace 6, systemd 252.
LAUNCHERS = {
    "sudo": _launcher("-u --user -g --group -p --prompt -C --close-from -h --host -r --role -t --type -T -U -D -R"),
    "doas": _launcher("-u -C"),
    "pkexec": _launcher("--user"),
    "run0": _launcher("-u --user -g --group --unit -D --chdir"),
    "gosu": _launcher(operands=1),
    "su-exec": _launcher(operands=1),
    "env": _launcher("-u --unset -C --chdir"),
    "nice": _launcher("-n --adjustment"),
    "ionice": _launcher("-c --class -n --classdata -p"),
    "chrt": _launcher("-T -P -D", operands=1),
    "taskset": _launcher(operands=1),
    "timeout": _launcher("-s --signal -k --kill-after", operands=1),
    "gtimeout": _launcher("-s --signal -k --kill-after", operands=1),
    "stdbuf": _launcher("-i -o -e --input --output --error"),
    "setsid": _launcher(),
    "nohup": _launcher(),
    "time": _launcher("-f --format -o --output"),
    "command": _launcher(),
    "builtin": _launcher(),
    "exec": _launcher("-a"),
    "busybox": _launcher(),
    "toybox": _launcher(),
    "chroot": _launcher(operands=1),
    "flock": _launcher("-w --wait --timeout -E", operands=1),
    "setarch": _launcher(),
    "linux32": _launcher(),
    "linux64": _launcher(),
    "unshare": _launcher("-S -G -R --root -w --wd"),
    "nsenter": _launcher("-t --target -S -G"),
    "setpriv": _launcher("--reuid --regid --groups"),
    "capsh": _launcher(),
    "prlimit": _launcher("-p --pid"),
    "cgexec": _launcher("-g"),
    "systemd-run": _launcher(
        "-p --property -u --unit -M --machine -H --slice -E --on-active --on-boot --on-calendar --uid --gid --description"
    ),
    "systemd-inhibit": _launcher("--what --who --why --mode"),
    "catchsegv": _launcher(),
    "strace": _launcher("-e -o -p -s -u -E -P -S -a -b -I -X"),
    "ltrace": _launcher("-e -o -p -s -u -n -a -l"),
    "valgrind": _launcher(),
    "gdb": _launcher("-x -ex --command"),
    "unbuffer": _launcher(),
    "fakeroot": _launcher("-l -s -i -b"),
    "proot": _launcher("-r -b -w -q"),
    "dbus-run-session": _launcher(),
    "xvfb-run": _launcher("-n -e -f -s -w"),
    "firejail": _launcher(),
    "faketime": _launcher(operands=1),
    "torsocks": _launcher(),
    "proxychains": _launcher("-f"),
    "proxychains4": _launcher("-f"),
    "caffeinate": _launcher("-t -w"),
    "coproc": _launcher(),
    "noglob": _launcher(),
    "nocorrect": _launcher(),
    "xargs": _launcher("-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars -R -J -S"),
    "parallel": _launcher("-j --jobs -a --arg-file -I --colsep -n -N -L --timeout --delay --joblog --results -S"),
    "entr": _launcher(),
    "watch": _launcher("-n --interval", is_text=True),
    "ssh": _launcher("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B", operands=1, is_text=True),
    "sshpass": _launcher("-f -d -p -P"),
    "cmd": _launcher(operands=1, is_text=True),
    "tmux": _launcher("-s -n -c -t -x -y -F -L -S -f", operands=1, is_text=True),
    "screen": _launcher("-S -c -h -s -t -T -p -dmS -DmS -mdS -dmLS"),
    "rsh": _launcher("-l", operands=1, is_text=True),
    "mosh": _launcher(operands=1),
    "start-stop-daemon": _launcher("-p --pidfile -u -c -n -r -s"),
    "multipass": _launcher(operands=2),
    "wsl": _launcher("-d --distribution -u --user"),
    "start": _launcher(),
    "ld.so": _launcher("--library-path --preload --argv0 --inhibit-rpath --audit"),
    "direnv": _launcher(operands=2),
    "poetry": _launcher(operands=1),
    "pipenv": _launcher(operands=1),
    "bundle": _launcher(operands=1),
    "hatch": _launcher(operands=1),
    "npx": _launcher("-p --package -c --call"),
    "bunx": _launcher("-p --package"),
    "pnpx": _launcher("-p --package"),
    "watchexec": _launcher("-w -e -i -f --watch --exts --ignore --filter"),
    "choom": _launcher("-n -p"),
    "runcon": _launcher("-t -u -r -l", operands=1),
    "dtach": _launcher(operands=1),
    "daemonize": _launcher("-c -e -o -p -l -u -E"),
    "bwrap": _launcher("--chdir --setenv"),
    "perf": _launcher(operands=1),
    "numactl": _launcher(),
    "rlwrap": _launcher(),
    "run-one": _launcher(),
    "chpst": _launcher("-u -U -b -e -/ -n -m -d -o -p -f -c"),
    "softlimit": _launcher(),
    "cpulimit": _launcher("-l -p -e"),
    "trickle": _launcher("-u -d"),
}
CONTAINER = _launcher("-e --env --env-file -u --user -w --workdir -c --container -n --namespace --index", operands=1)
"""`docker exec` and its like, from the word `exec` on."""
TEXT_OPTIONS = {
    "su": frozenset({"-c", "--command"}),
    "runuser": frozenset({"-c", "--command"}),
    "script": frozenset({"-c", "--command"}),
    "flock": frozenset({"-c", "--command"}),
    "sg": frozenset({"-c"}),
    "env": frozenset({"-S", "--split-string"}),
    "capsh": frozenset({"-c"}),
}
"""Options whose value a shell reads."""


def started_by(name: str, command: Command) -> Command | None:
    """The command that *command* starts, if its program is one of those."""
    launcher = LAUNCHERS.get(name)
    if launcher is None:
        return None
    words = after_options(command.words, launcher)
    return command._replace(words=words) if words else None


def text_of(name: str, command: Command) -> tuple[Word, ...]:
    """The words that together are shell source for the program *name*; empty if there are none."""
    if name in TEXT_OPTIONS:
        return _value_of(command.words, TEXT_OPTIONS[name])
    launcher = LAUNCHERS.get(name)
    return after_options(command.words, launcher) if launcher is not None and launcher.is_text else ()


def after_options(words: tuple[Word, ...], launcher: Launcher) -> tuple[Word, ...]:
    """The words that follow the options, assignments and operands of a launcher."""
    at, operands = 1, launcher.operands
    while at < len(words):
        text = words[at].text or words[at].prefix
        if text in launcher.valued:
            at += 2
        elif text == "--" or (text.startswith("-") and text != "-") or _ASSIGNMENT.match(text):
            at += 1
        elif operands:
            operands, at = operands - 1, at + 1
        else:
            break
    return words[at:]


def _value_of(words: tuple[Word, ...], options: frozenset[str]) -> tuple[Word, ...]:
    for at, word in enumerate(words):
        text = word.text or word.prefix
        if text in options:
            return words[at + 1 : at + 2]
        for option in options:
            rest = text.removeprefix(f"{option}=" if option.startswith("--") else option)
            if rest != text:
                return (Word(word.form, rest if word.text is not None else None),)
    return ()
