"""Programs that start another program, whose name is among their words.

The floor always looks through them, whatever the tables say; `requirements` does so if a program has no table.
"""

import re
from typing import NamedTuple

from toolcharter.guards.shell.nodes import Command, Word

_MAX_DEPTH = 32
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class Launcher(NamedTuple):
    """How to find the program that a launcher starts."""

    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    operands: int = 0
    """How many operands precede the program."""
    is_text: bool = False
    """Whether the launcher joins the words and a shell runs them."""
    paired: frozenset[str] = frozenset()
    """Options whose values are the next two words."""
    starts: frozenset[str] = frozenset()
    """Options that precede the program; without one of them, nothing is started."""
    is_dashed: bool = False
    """Whether the program comes directly behind `--`, if there is one."""


def _launcher(valued: str = "", operands: int = 0, *, is_text: bool = False) -> Launcher:
    return Launcher(frozenset(valued.split()), operands, is_text)


def _subcommand(valued: str = "", operands: int = 0, starts: str = "") -> Launcher:
    return Launcher(frozenset(valued.split()), operands, starts=frozenset(starts.split()), is_dashed=True)


# Source: the manuals of util-linux 2.39, coreutils 9.1, sudo 1.9, opendoas 6.8, procps 4, findutils 4.9, OpenSSH 9,
# busybox 1.36, docker 24, kubectl 1.28, GNU parallel 2023, strace 6, systemd 252.
LAUNCHERS = {
    "sudo": _launcher(
        "-u --user -g --group -p --prompt -C --close-from -h --host -r --role -t --type -T --command-timeout"
        " -U --other-user -D --chdir -R --chroot"
    ),
    "doas": _launcher("-a -u -C"),
    "pkexec": _launcher("--user"),
    "run0": _launcher("-u --user -g --group --unit -D --chdir"),
    "gosu": _launcher(operands=1),
    "su-exec": _launcher(operands=1),
    "env": _launcher("-u --unset -C --chdir"),
    "nice": _launcher("-n --adjustment"),
    "ionice": _launcher("-c --class -n --classdata -p --pid -P --pgid -u --uid"),
    "chrt": _launcher("-T --sched-runtime -P --sched-period -D --sched-deadline", operands=1),
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
    "chroot": _launcher("--groups --userspec", operands=1),
    "flock": _launcher("-w --wait --timeout -E --conflict-exit-code", operands=1),
    "setarch": _launcher(),
    "linux32": _launcher(),
    "linux64": _launcher(),
    "unshare": _launcher(
        "-S --setuid -G --setgid -R --root -w --wd --map-user --map-users --map-group --map-groups --propagation"
        " --setgroups --monotonic --boottime"
    ),
    "nsenter": _launcher("-t --target -S --setuid -G --setgid -W"),
    "setpriv": _launcher(
        "--ruid --euid --reuid --rgid --egid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits"
        " --pdeathsig --selinux-label --apparmor-profile"
    ),
    "capsh": _launcher(),
    "prlimit": _launcher("-p --pid"),
    "cgexec": _launcher("-g"),
    "systemd-run": _launcher(
        "-p --property -u --unit -M --machine -H --host --slice -E --setenv --on-active --on-boot --on-calendar --uid --gid"
        " --description --nice --service-type --working-directory"
    ),
    "systemd-inhibit": _launcher("--what --who --why --mode"),
    "catchsegv": _launcher(),
    "strace": _launcher(
        "-e --expr --trace --signal --status -o --output -p --attach -s --string-limit -u --user -E --env -P --trace-path"
        " -S --summary-sort-by -a --columns -b --detach-on -I --interruptible -X --const-print-style"
        " -O --summary-syscall-overhead -U --summary-columns"
    ),
    "ltrace": _launcher("-e -o --output -p -s -u -n -a -A -D -F -l -w -x"),
    "valgrind": _launcher(),
    "gdb": _launcher("-x -ex --command"),
    "unbuffer": _launcher(),
    "fakeroot": _launcher("-l -s -i -b"),
    "proot": _launcher("-r -b -w -q"),
    "dbus-run-session": _launcher("--config-file --dbus-daemon"),
    "xvfb-run": _launcher(
        "-n --server-num -e --error-file -f --auth-file -s --server-args -w --wait -p --xauth-protocol"
    ),
    "firejail": _launcher(),
    "faketime": _launcher(operands=1),
    "torsocks": _launcher(),
    "proxychains": _launcher("-f"),
    "proxychains4": _launcher("-f"),
    "caffeinate": _launcher("-t -w"),
    "coproc": _launcher(),
    "noglob": _launcher(),
    "nocorrect": _launcher(),
    "xargs": _launcher(
        "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars --process-slot-var -R -J -S"
    ),
    "parallel": _launcher("-j --jobs -a --arg-file -I --colsep -n -N -L --timeout --delay --joblog --results -S"),
    "entr": _launcher(),
    "watch": _launcher("-n --interval -q --equexit", is_text=True),
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
    "npx": _launcher(
        "-p --package -c --call --shell -w --workspace --registry --prefix -C --userconfig --cache --node-options -n --node-arg"
    ),
    "bunx": _launcher("-p --package"),
    "pnpx": _launcher("-p --package"),
    "pnx": _launcher("-p --package"),
    "uvx": _launcher(
        "--from --with -w --with-editable --with-requirements -p --python --index --default-index --index-url"
        " --extra-index-url --env-file --directory --project --cache-dir --config-file --color -c --constraints"
    ),
    "flatpak-spawn": _launcher(),
    "host-spawn": _launcher("-e -env -cwd --cwd"),
    "distrobox-enter": Launcher(frozenset({"-n", "--name"}), 1, is_dashed=True),
    "distrobox-host-exec": _launcher(),
    "envchain": _launcher(operands=1),
    "corepack": _launcher(),
    "just": Launcher(starts=frozenset({"-c", "--command"})),
    "dotenv": Launcher(starts=frozenset({"--"})),
    "dotenvx": Launcher(starts=frozenset({"--"})),
    "with-contenv": _launcher(),
    "tini": _launcher("-p -e"),
    "dumb-init": _launcher(),
    "systemd-nspawn": _launcher("-D --directory -i --image -M --machine -u --user -b --bind --bind-ro --setenv -E"),
    "watchexec": _launcher("-w -e -i -f --watch --exts --ignore --filter"),
    "choom": _launcher("-n -p"),
    "runcon": _launcher("-t -u -r -l", operands=1),
    "dtach": _launcher(operands=1),
    "daemonize": _launcher("-c -e -o -p -l -u -E"),
    "bwrap": _launcher(
        "--chdir --unsetenv --dev --proc --tmpfs --dir --remount-ro --perms --size --uid --gid --hostname --lock-file"
        " --sync-fd --info-fd --seccomp --block-fd --userns --pidns --args --cap-add --cap-drop --exec-label --argv0"
        " --mqueue --json-status-fd --add-seccomp-fd --file-label"
    )._replace(
        paired=frozenset(
            """--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --symlink --setenv --file --bind-data
            --ro-bind-data --chmod --bind-fd --ro-bind-fd""".split()
        )
    ),
    "perf": _launcher(operands=1),
    "numactl": _launcher(
        "-i --interleave -p --preferred -P --preferred-many -m --membind -N --cpunodebind -C --physcpubind"
    ),
    "rlwrap": _launcher("-b -C -D -e -f -F -g -H -l -M -O -P -q -s -S -t -w -z"),
    "run-one": _launcher(),
    "chpst": _launcher("-u -U -b -e -/ -n -m -d -o -p -f -c -C -l -L -r -t"),
    "softlimit": _launcher("-a -c -d -f -l -m -o -p -r -s -t"),
    "cpulimit": _launcher("-l -p -e"),
    "chronic": _launcher(),
    "ifne": _launcher(),
    "lckdo": _launcher(operands=1),
    "retry": _launcher("-t --times -d --delay -m --multiply-delay"),
    "envdir": _launcher(operands=1),
    "s6-envdir": _launcher(operands=1),
    "s6-setuidgid": _launcher(operands=1),
    "dbus-launch": _launcher("--config-file"),
    "cross-env": _launcher(),
    "dockerize": _launcher("-wait -timeout -template -stdout -stderr -env -wait-retry-interval"),
    "tsp": _launcher("-L -N -D -W"),
    "trickle": _launcher("-u -d"),
}
_ENVIRONMENT = "-e --env --env-file -C --cd --directory --cwd --cwd-prefix -w --workspace --filter"
_CONDA = _subcommand("-n --name -p --prefix --cwd")
_SECRETS = _subcommand(
    "--env-file -e --env --environment -p --project -c --config -t --token --account --session --path --format -n"
    " --name --project-id --projectId --region --profile -d --duration --scope"
)
SUBCOMMANDS: dict[str, dict[str, Launcher]] = {
    "uv": {
        "run": _subcommand(
            "--with --with-editable --with-requirements -p --python --extra --no-extra --group --no-group --only-group"
            " --env-file --directory --project --package --index --default-index --index-url --extra-index-url -i"
            " --find-links -f --cache-dir --config-file --color --link-mode --refresh-package --upgrade-package -P"
        ),
        "x": LAUNCHERS["uvx"],
    },
    **{name: {"run": _subcommand("-C --directory -P --project -p -e --site-packages")} for name in ("poetry", "pdm")},
    **{name: {"run": _subcommand("-e --env --manifest-path --environment -p")} for name in ("hatch", "rye", "pixi")},
    "pipenv": {"run": _subcommand("--python")},
    "pipx": {"run": _subcommand("--spec --python --pip-args --index-url -i --backend --path")},
    "bundle": {"exec": _subcommand("--gemfile"), "e": _subcommand("--gemfile")},
    **{name: dict.fromkeys(("exec", "x", "dlx"), _subcommand(f"-p --package {_ENVIRONMENT}"))
       for name in ("npm", "yarn")},
    "pnpm": dict.fromkeys(("exec", "dlx"), _subcommand(f"--package --allow-build {_ENVIRONMENT}")),
    "bun": {"x": _subcommand("-p --package --cwd")},
    **{name: dict.fromkeys(("exec", "x"), _subcommand("-C --cd -j --jobs -E --env", starts="--"))
       for name in ("mise", "rtx")},
    **{key: {"run": _CONDA} for key in ("conda", "mamba", "micromamba")},
    **{name: {"exec": _subcommand()} for name in ("rbenv", "pyenv", "nodenv", "goenv", "asdf", "jenv", "plenv")},
    "rustup": {"run": _subcommand(operands=1)},
    "volta": {"run": _subcommand("--node --npm --pnpm --yarn --env")},
    "fnm": {"exec": _subcommand("--using")},
    "nvm": dict.fromkeys(("exec", "run"), _subcommand(operands=1)),
    "direnv": {"exec": _subcommand(operands=1)},
    **{name: {"run": _subcommand("-f --procfile -e --env -d --root -p --port")} for name in ("foreman", "honcho")},
    **{name: {"exec": _subcommand("--scope --ignore --concurrency --projects", starts="--")} for name in ("lerna", "nx")},
    "devbox": {"run": _subcommand("-c --config -e --env --env-file")},
    "nix": dict.fromkeys(("shell", "develop"), _subcommand(starts="-c --command")),
    **{name: {"run": _SECRETS} for name in ("op", "doppler", "infisical", "railway", "teller", "berglas")},
    "aws-vault": {"exec": Launcher(_SECRETS.valued, 1, is_dashed=True)},
    "chamber": {"exec": Launcher(_SECRETS.valued, 1, is_dashed=True)},
    "distrobox": {"enter": _subcommand("-n --name -a --additional-flags -H", operands=1)},
    "toolbox": {"run": _subcommand("-c --container -d --distro -r --release")},
    "machinectl": {"shell": _subcommand("--uid -E --setenv", operands=1)},
    "ip": {"netns": Launcher(operands=2), "vrf": Launcher(operands=2)},
    "snap": {"run": _subcommand("--command --hook", operands=1)},
    "heroku": {"local:run": _subcommand("-e --env -p --port")},
}  # fmt: skip
"""Programs with a subcommand that starts the program among its words."""
CONTAINER = _launcher("-e --env --env-file -u --user -w --workdir -c --container -n --namespace --index", operands=1)
"""`docker exec` and similar commands, from the word `exec` on."""
_DOCKER_RUN = _launcher(
    "-a --attach --add-host --annotation --blkio-weight --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile"
    " --cpu-period --cpu-quota -c --cpu-shares --cpus --cpuset-cpus --device --dns --entrypoint -e --env --env-file"
    " --expose --gpus --group-add --health-cmd -h --hostname --ip --ipc --isolation -l --label --label-file --link"
    " --log-driver --log-opt --mac-address -m --memory --memory-swap --mount --name --net --network --network-alias"
    " --pid --pids-limit --platform -p --publish --pull --restart --runtime --security-opt --shm-size --stop-signal"
    " --storage-opt --sysctl --tmpfs --ulimit -u --user --userns --uts -v --volume --volume-driver --volumes-from"
    " -w --workdir",
    operands=1,
)
CONTAINERS: dict[str, dict[str, Launcher]] = {
    **{key: {"exec": CONTAINER, "run": _DOCKER_RUN} for key in ("docker", "podman", "nerdctl", "docker-compose")},
    **{key: {"exec": CONTAINER._replace(is_dashed=True), "--": _launcher()} for key in ("kubectl", "oc")},
    **{key: {"exec": _subcommand("--env --cwd --user --group --mode", operands=1)} for key in ("lxc", "incus")},
}
"""Programs that start another one in a container or on another machine: rules of `deny` match it, `allow` need not cover it."""
TEXT_OPTIONS = {
    "su": frozenset({"-c", "--command"}),
    "runuser": frozenset({"-c", "--command"}),
    "script": frozenset({"-c", "--command"}),
    "flock": frozenset({"-c", "--command"}),
    "sg": frozenset({"-c"}),
    "env": frozenset({"-S", "--split-string"}),
    "capsh": frozenset({"-c"}),
}
"""Options whose value a shell runs."""


STARTERS = LAUNCHERS.keys() | SUBCOMMANDS.keys() | CONTAINERS.keys()


def started_words(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words of the command that the program *name*, called with *words*, starts; empty if it starts none."""
    if name in LAUNCHERS:
        return words_after_options(words, LAUNCHERS[name])
    return _started_by_subcommand(name, words) if name in SUBCOMMANDS else ()


def _started_by_subcommand(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    subcommands = SUBCOMMANDS[name]
    valued = frozenset[str]().union(*(launcher.valued for launcher in subcommands.values()))
    at = len(words) - len(words_after_options(words, Launcher(valued)))
    launcher = subcommands.get((words[at].text or "") if at < len(words) else "")
    if launcher is None and name == "uv" and [word.text for word in words[at : at + 2]] == ["tool", "run"]:
        launcher, at = LAUNCHERS["uvx"], at + 1
    started = () if launcher is None else words_after_options(words[at:], launcher)
    # npm removes the `--` between the program and its options.
    return started if name != "npm" or len(started) < 2 or started[1].text != "--" else (started[0], *started[2:])  # noqa: PLR2004 - the program, and the dashes


def contained_words(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words of the command that the program *name* starts in a container or on another machine."""
    if name not in CONTAINERS:
        return ()
    for at, word in enumerate(words):
        launcher = CONTAINERS[name].get(word.text or "")
        if launcher is not None:
            return words_after_options(words[at:], launcher)
    return ()


def source_words(name: str, command: Command) -> tuple[Word, ...]:
    """The words that the program *name* runs, joined, as shell source; empty if there are none."""
    if name in TEXT_OPTIONS:
        return _option_value(command.words, TEXT_OPTIONS[name])
    launcher = LAUNCHERS.get(name)
    return words_after_options(command.words, launcher) if launcher is not None and launcher.is_text else ()


def words_after_options(words: tuple[Word, ...], launcher: Launcher) -> tuple[Word, ...]:
    """The words behind the options, assignments and operands of a launcher."""
    at, operands = 1, launcher.operands
    if launcher.starts:
        texts = [word.text for word in words]
        return next((words[place + 1 :] for place, text in enumerate(texts) if place and text in launcher.starts), ())
    while at < len(words):
        text = words[at].text or words[at].prefix
        if launcher.is_dashed and text == "--":
            return words[at + 1 :]
        if text in launcher.valued:
            at += 2
        elif text in launcher.paired:
            at += 3
        elif text == "--" or (text.startswith("-") and text != "-") or _ASSIGNMENT.match(text):
            at += 1
        elif operands:
            operands, at = operands - 1, at + 1
        else:
            break
    return words[at:]


def _option_value(words: tuple[Word, ...], options: frozenset[str]) -> tuple[Word, ...]:
    for at, word in enumerate(words):
        text = word.text or word.prefix
        if text in options:
            return words[at + 1 : at + 2]
        for option in options:
            rest = text.removeprefix(f"{option}=" if option.startswith("--") else option)
            if rest != text:
                return (Word(word.form, rest if word.text is not None else None),)
    return ()
