"""What "allow always" is offered for: one plain command, or arguments that may be written down."""

from pathlib import Path

import pytest
from tests.rows import each_row
from tests.samples import sample_file

from toolcharter.gate.approvals.always_offered import MAX_SHOWN_BYTES, NOT_STORABLE, why_not_offered

WORK = Path("/work")
KEY = "AKIA" + "Z7QK3MNB" * 2


def of_command(*commands: str, workspace: Path = WORK) -> str | None:
    return why_not_offered("; ".join(commands), commands, workspace)


@each_row(
    "command",
    [
        pytest.param("pytest -q", id="plain"),
        pytest.param("ls '*'", id="a star in quotes"),
        pytest.param("/usr/bin/wc -l x", id="a program by its whole path"),
        pytest.param("cat 'größe.txt'", id="letters that need quotes"),
        *(
            pytest.param(line, id=line)
            for line in ("cargo +nightly --locked test x", "cargo -V", "clang-format -i x.c")
        ),
        *(pytest.param(script, id=script) for script in ("npm test", "npm run build:all", "yarn test", "pnpm run e2e")),
    ],
)
def test_a_plain_command_may_be_kept(command) -> None:
    """A script of the project counts as one: what it runs stands in the project's files."""
    assert of_command(command) is None


@each_row(
    ("commands", "why_not"),
    [
        pytest.param(["ls", "wc x"], "It is more than one command.", id="two commands"),
        pytest.param(["ls", "sh x"], "'sh' can run any other program.", id="the second is a shell"),
        pytest.param(["python3.11 x.py"], "'python3.11' can run any other program.", id="an interpreter"),
        pytest.param(["/usr/bin/env ls"], "'/usr/bin/env' can run any other program.", id="a wrapper by its path"),
        pytest.param(["X=1 ls"], "The command sets a variable.", id="an assignment"),
        pytest.param(["X+=1 ls"], "The command sets a variable.", id="an assignment that adds"),
        pytest.param(["./run"], "'./run' is a file that tools could change.", id="a program from here"),
        pytest.param(["bin/run"], "'bin/run' is a file that tools could change.", id="a program from below"),
        pytest.param(["/work/run"], "'/work/run' is a file that tools could change.", id="one in the workspace"),
        pytest.param(["/usr/../work/x"], "'/usr/../work/x' is a file that tools could change.", id="a way into it"),
        pytest.param(["ls >x"], "The command is more than plain words.", id="a redirection"),
        pytest.param(["ls $HOME"], "The command is more than plain words.", id="an expansion"),
        pytest.param(["ls *"], "The command is more than plain words.", id="a pattern"),
        pytest.param(["ls ; rm x"], "The command is more than plain words.", id="two in one"),
        pytest.param(["ls  x"], "The command is more than plain words.", id="no normal form"),
        pytest.param(["ls 'x"], "The command is more than plain words.", id="an open quote"),
        pytest.param([""], "The command is more than plain words.", id="nothing"),
        pytest.param(["ls 'a\nb'"], "The command contains invisible characters.", id="a line break"),
        pytest.param(["ls 'a\u202eb'"], "The command contains invisible characters.", id="a bidi override"),
        pytest.param(["ls 'a\u200bb'"], "The command contains invisible characters.", id="a zero width space"),
        pytest.param(["ls '\u3164'"], "The command contains invisible characters.", id="a letter without a mark"),
        pytest.param(["ls " + KEY], NOT_STORABLE, id="a secret"),
        pytest.param(["ls " + "x" * MAX_SHOWN_BYTES], f"It is longer than {MAX_SHOWN_BYTES} bytes.", id="too long"),
    ],
)
def test_commands_that_are_not_kept(commands, why_not) -> None:
    """The person who is asked reads why "always" is not offered."""
    assert of_command(*commands) == why_not


def test_a_link_into_the_workspace_is_not_kept(workspace, tmp_path) -> None:
    """A program outside is what a tool writes inside, if a link leads there."""
    (tmp_path / "run").symlink_to(workspace / "run")

    assert of_command(f"{tmp_path}/run", workspace=workspace) is not None


@pytest.mark.parametrize(("size", "offered"), [(MAX_SHOWN_BYTES, True), (MAX_SHOWN_BYTES + 1, False)])
def test_an_approval_has_a_longest_form(size, offered) -> None:
    """At the limit and one past it: a person reads it again."""
    assert (why_not_offered("x" * size, (), WORK) is None) is offered


def test_no_program_of_gtfobins_is_offered() -> None:
    """Whatever is known to start a shell or a command is in our list."""
    functions = sample_file("security/gtfobins")["functions"]

    names = {*functions["shell"], *functions["command"]}
    words = ("", " x", " -c x", " .", " exec y", " run -x", " a b")
    offered = [name + end for name in names for end in words if of_command(name + end) is None]

    assert (len(names) > 50, offered) == (True, [])


@each_row(
    "command",
    [
        *(
            "npm",
            "npm x",
            "npm exec eslint",
            "npm test x",
            "npm run",
            "npm run build x",
            "npm --prefix test",
            "npx test",
        ),
        *("make lint", "yarn dlx", "npm init", "/usr/bin/npm test", "npm run --x"),
    ],
)
def test_no_more_of_a_runner_is_kept(command) -> None:
    """An option, a path, a variable or another subcommand could run anything."""
    assert of_command(command) is not None


@each_row(
    "line",
    """direnv exec . deploy prod|mise run build|rtx run build|nx run x|turbo build|task build|just build|make build
    |rake build|go-task x|npm run|deno task x|bun run x|gulp x|grunt x|tox -e py|nox -s x|invoke x|inv x|fab x
    |hatch run x|pixi run x|devbox run x|nix develop|bazel run //x|bazelisk test //x|gradle build|gradlew build
    |mvn verify|mvnw verify|sbt test|ant x|lein x|ninja x|ninja-build|meson compile|cargo run|cargo r
    |cargo xtask ci|cargo make x|cargo +nightly --locked run|/usr/bin/cargo run|cargo --config x.toml test
    |go generate ./...|composer run x|docker compose up|docker-compose up|vagrant up|ansible-playbook x.yml
    |tofu apply|pre-commit run|rails x|zig build|dune build|lefthook run x|doit x|snakemake x|lerna run x
    |foreman start|pyenv exec x|tini x|gtimeout 5 x|chpst x|setuidgid x y|envuidgid x y|gxargs x|usewithtor x
    |pn test|yarnpkg test|flask x|django-admin x|nodemon x|run-s x""".replace(
        "\n    ", ""
    ).split("|"),
)  # fmt: skip
def test_no_runner_of_what_a_project_defines_is_kept(line: str) -> None:
    """The words stay the same, and the files that say what they run do not."""
    assert of_command(line) is not None
