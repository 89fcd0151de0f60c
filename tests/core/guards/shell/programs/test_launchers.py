"""Programs that start the program among their words: rules of `deny` and of `allow` see what they start."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse

WS = "/home/dev/ws"
INNER = "rm -r build"


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
