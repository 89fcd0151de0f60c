"""Programs that start the program among their words: rules of `deny` and of `allow` see what they start."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse
from toolcharter.guards.shell.floor.check import catastrophe
from toolcharter.guards.shell.parse.script import parse
from toolcharter.guards.shell.programs.launchers import LAUNCHERS, TEXT_OPTIONS
from toolcharter.guards.shell.programs.table import Table
from toolcharter.guards.shell.programs.tables import CORE_TABLES

WS = "/home/dev/ws"
INNER = "rm -r build"
ONLY_LAUNCHERS = {
    "sudo": "-h",  # a host, where a word follows
    "xargs": "-J -R -S",  # of BSD
    # Their tables are shared, and leave these to rules.
    "fakeroot": "-b -i -l -s",
    "cpulimit": "-e -l -p",
    "tini": "-e -p",
    # Rules have to mention them.
    "systemd-run": "--on-active --on-boot --on-calendar",
    "uvx": "--cache-dir --color --config-file --constraints --default-index --directory --env-file --extra-index-url"
    " --index-url --project --with-editable --with-requirements -c -w",
}
"""Options with a value that a table leaves out, each because the table knows less than the launcher on purpose."""
_OF_NPX = "-c --call --shell -w --workspace --registry --prefix -C --userconfig --cache --node-options -n --node-arg"
ONLY_TABLES = {
    **dict.fromkeys(("bunx", "pnpx", "pnx"), _OF_NPX),
    "systemd-run": "--what --who --why --mode",
    "systemd-inhibit": "-H --host -M --machine -u --unit -p --property --description --slice --service-type --uid --gid"
    " --nice --working-directory -E --setenv",
}
"""Options of another program that a shared table has, too: `pnpx -c rm -rf /` starts what follows."""


def judged(line: str) -> Analysis:
    judgement = analyse([line], WS)
    assert (judgement.unresolved_program, judgement.catastrophe, judgement.unsupported) == (None, None, None)
    return judgement


def deniable(line: str) -> set[str]:
    """All that a rule of `deny` is held against."""
    return {form for one in judged(line).commands for form in (one.form, *one.deny_forms)}


@each_row(
    "line",
    """uv run X|uv run --with x -- X|uv tool run X|uvx --from x X|npx -y X|npm exec -- X|npm x X|pnpm dlx X|pnpm exec X|yarn dlx X
    |yarn exec X|bunx X|bun x X|mise exec -- X|mise x node@20 -- X|conda run -n base X|op run -- X|op run --env-file=e -- X|just -c X
    |flatpak-spawn --host X|distrobox enter x -- X|bwrap --bind a b --dev /dev X|hatch run X|poetry run X|pdm run X|pipx run X|direnv exec . X
    |nix develop -c X|rustup run nightly X|bundle exec X|doppler run -- X|aws-vault exec prod -- X|find src -name x -exec X ;|env -u A X|timeout 5 X
    |poetry run uv run X|chronic X|ifne X|lckdo lock X|retry -t 3 X|envdir env X|s6-setuidgid app X|dbus-launch X|cross-env A=b X
    |dockerize -timeout 5s X|tsp X|foreman run X|honcho run -e a X|lerna exec -- X|nx exec -- X|devbox run X""".replace(
        "\n    ", ""
    ).split("|"),
)
def test_a_rule_of_deny_sees_what_is_started(line: str) -> None:
    """`deny: ["bash:rm *"]` matches what a launcher starts, whether or not there is a table for the launcher."""
    assert INNER in deniable(line.replace("X", INNER).replace(" ;", " ';'"))


@each_row(
    "line",
    """docker exec -it -u me web X|docker run --rm -v a:/b -w /b image X|docker compose exec web X|docker compose run --rm web X|podman exec web X
    |kubectl exec -n web pod -- X|kubectl exec deploy/web -c app -- X|kubectl run x --image=y -- X|lxc exec web -- X""".replace(
        "\n    ", ""
    ).split("|"),
)
def test_a_rule_of_deny_sees_what_is_started_elsewhere(line: str) -> None:
    """In containers and clusters, too; rules of `allow` need not cover it, for it sees other files."""
    line = line.replace("X", INNER)

    assert INNER in deniable(line)
    assert [one.form for one in judged(line).commands] == [line]


@pytest.mark.parametrize("launcher", ["op run --", "doppler run --", "aws-vault exec prod --"])
def test_what_a_launcher_without_a_table_starts_has_to_be_covered(launcher: str) -> None:
    """As behind `env` and `timeout`: the launcher is one command, and what it starts is another."""
    started = judged(f"{launcher} sort -o out.md in.md").commands

    assert [one.form for one in started] == [f"{launcher} sort -o out.md in.md", "sort -o out.md in.md"]
    assert [need.form for need in started[1].needs] == ["-o"]


@each_row("line", ["npm test", "npm run build", "uv sync", "poetry install", "op item list", "just build", "nix build"])
def test_a_subcommand_that_starts_nothing_is_one_command(line: str) -> None:
    """Only the subcommands that are there to start programs are looked through."""
    assert [one.form for one in judged(line).commands] == [line]


@each_row(
    "line",
    """setpriv --pdeathsig KILL X|setpriv --ruid 0 --inh-caps -all X|setpriv --selinux-label x --securebits y X
    |unshare --map-user 0 X|nsenter -W / X|nsenter --wdns X|chroot --userspec 0 / X|chrt --sched-period 5 1 X|rlwrap -p X|rlwrap -w 5 X
    |rlwrap -T X|softlimit -a 5 X|numactl -N 0 X|ionice -P 5 X|sudo --chdir / X|xvfb-run -p x X|strace --user x X|chpst -t 5 X
    |systemd-run --nice 5 X|npx --registry x X|pnpx -c X|pnx -c X|bunx -w X|systemd-inhibit -H X""".replace(
        "\n    ", ""
    ).split("|"),
)
def test_the_floor_looks_behind_the_values_of_options(line: str) -> None:
    """Also where it reads the text alone."""
    harmful = ("rm -rf /", "mkfs.ext4 /dev/sda")

    assert [one for one in harmful if catastrophe(parse(line.replace("X", one))) is None] == []


def in_table(name: str) -> Table | None:
    """What the table of *name* says, if it knows the program's options."""
    entry = CORE_TABLES.find(name)
    return entry.table if entry is not None and entry.table.style != "words" else None


@each_row("name", [name for name in LAUNCHERS if in_table(name) is not None and not LAUNCHERS[name].starts])
def test_a_launcher_and_its_table_know_the_same_options(name: str) -> None:
    """What takes the next word for the one takes it for the other: else one of them takes a value for the program."""
    table, launcher = in_table(name), LAUNCHERS[name]
    assert table is not None

    # What a shell reads is looked at by itself.
    taking = {
        words: {option for option, spec in table.options.items() if len(spec.roles) == words and not spec.is_attached}
        - TEXT_OPTIONS.get(name, frozenset())
        for words in (1, 2)
    }

    assert taking[1] - launcher.valued == set(ONLY_TABLES.get(name, "").split())
    assert taking[2] == launcher.paired
    assert launcher.valued - taking[1] == set(ONLY_LAUNCHERS.get(name, "").split())
