"""What the floor finds in texts, among words and in files of a line is seen by rules of `deny`."""

from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse

WS = "/w/ws"


def seen(line: str) -> set[str]:
    """All forms of the commands of a line that a rule of `deny` is held against."""
    return {form for one in analyse([line], WS).commands for form in (one.form, *one.deny_forms)}


@each_row(
    "line",
    [
        "bash <(echo rm x)",
        ". <(echo rm x)",
        "source <(printf 'rm %s' x)",
        "bash <(cat <<<'rm x')",
        "source /dev/stdin <<<'rm x'",
        "sh -s <<<'rm x'",
        "bash /dev/fd/0 <<<'rm x'",
        "eval 'rm' 'x'",
        "tee s <<<'rm x'; sh s",
        "echo rm x >s && . ./s",
        "pee 'rm x'",
        "sops exec-env f 'rm x'",
        "new-launcher -- rm x",
        "flox activate -- rm x",
        "wait-for-it h:1 -- rm x",
        "dotenv run rm x",
        "env-cmd rm x",
        "socat - EXEC:'rm x'",
        "guix shell -- rm x",
        "go test -exec 'rm x'",
        "cmake -E rm x",
        "cmake -E env rm x",
        "hyperfine 'rm x'",
        "nix-shell --run 'rm x'",
        "expect -c 'spawn rm x'",
        "sqlite3 a '.shell rm x'",
        "git -c alias.y='!rm x' y",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.y GIT_CONFIG_VALUE_0='!rm x' git y",
        "A='!rm x' git --config-env=alias.y=A y",
        "env A='!rm x' git --config-env=alias.y=A y",
        "GIT_CONFIG_PARAMETERS=\"'alias.y=!rm x'\" git y",
    ],
)
def test_a_command_that_something_else_starts_is_seen(line: str) -> None:
    """However it is handed over, it is there in its normal form."""
    assert "rm x" in seen(line)


@each_row(
    "line",
    [
        "git -c alias.x='push --force' x",
        "git config alias.x 'push --force' && git x",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='push --force' git x",
        "GIT_CONFIG_PARAMETERS=\"'alias.x'='push --force'\" git x",
        "A='push --force' git --config-env=alias.x=A x",
        "A='push --force' git --config-env alias.x=A x",
    ],
)
def test_what_an_alias_of_git_stands_for_is_seen(line: str) -> None:
    """A subcommand behind another name is a subcommand."""
    assert "git push --force" in seen(line)


@each_row("line", ["echo rm x", "echo 'rm x'", "git commit -m 'rm x'", "grep -r 'rm x' src", "man rm"])
def test_what_is_only_said_is_not_seen(line: str) -> None:
    """Text for people is no command."""
    assert "rm x" not in seen(line)
