"""What no star covers: output over what somebody wrote, paths that a prefix hides, files and stores that give more away."""

from tests.core.guards.shell.tables.requirements_of_lines import read_line, required_words
from tests.rows import each_row

from toolcharter.api.command import PathAccess
from toolcharter.guards.shell.programs import outputs


@each_row(
    "path",
    [
        *(
            "bin/app",
            "build/app",
            "./out/app",
            "target",
            "cmake-build-debug/x",
            ".cache/x",
            "dist-esm/a.js",
            "web/dist",
        ),
        *(
            "cover.out",
            "src/cover.out",
            "cpu.prof",
            "coverage.xml",
            "junit.xml",
            "test-results.json",
            "x.test",
            "tfplan",
        ),
        *("dev.tfplan", "plan", "app.exe", "coverage/lcov.info"),
    ],
)
def test_what_is_called_as_output_is(path: str) -> None:
    """Such names are for a program to write over."""
    assert outputs.objection(path, "") is None


@each_row(
    "path",
    [
        *(
            "main.go",
            "src/x",
            "src",
            ".",
            "",
            "app",
            "Makefile",
            "build.gradle",
            "build.rs",
            "site.py",
            "out.go",
            "plan.tf",
        ),
        *("bin/../main.go", "build/../src/x", "package.json", "pom.xml", "main.tf", "build-tools/x", "profiles/a.yaml"),
        *("requirements.txt", "/", ".env", "env", ".env/x"),
    ],
)
def test_what_somebody_may_have_written(path: str) -> None:
    """Any other name has to be mentioned."""
    assert outputs.objection(path, "") == "is written, and is not called as output is"


def test_longest_name() -> None:
    """One letter more than a file system takes, and the name is not even looked at."""
    assert outputs.objection(f"{'-' * 251}.out", "") is None
    assert outputs.objection(f"{'-' * 252}.out", "") == "is no name of a file"


@each_row(
    ("path", "is_ordinary"),
    [
        ("requirements.txt", True),
        ("requirements-dev.txt", True),
        ("dev.constraints.txt", True),
        ("pylock.toml", True),
        ("dist/x", True),
        ("pyproject.toml", False),
        ("cover.out", False),
    ],
)
def test_lists_of_packages(path: str, *, is_ordinary: bool) -> None:
    """They are kept beside what was written by hand, and made by programs."""
    assert (outputs.objection(path, "requirements") is None) == is_ordinary


@each_row(
    ("line", "named"),
    [
        ("go build -o=main.go", "-o=main.go"),
        ("go build -o .git/hooks/build/x", ".git/hooks/build/x"),
        ("go build -o /tmp/app.exe", "/tmp/app.exe"),
        ("go test -coverprofile cover.out", ""),
        ("go test -coverprofile /dev/null", ""),
        ("uv export -o -", ""),
        ("poetry export -o requirements.txt", ""),
        ("poetry export -o pyproject.toml", "pyproject.toml"),
        ("dotnet build -o src", "src"),
        ("dotnet test --results-directory=TestResults/results", ""),
        ("deno test --coverage=src", "--coverage=src"),
        ("python -m venv .venv", ""),
        ("python -m venv src", "src"),
        ("hatch build dist", ""),
        ("hatch build src", "src"),
        ("pip wheel -w wheelhouse .", "wheel"),
        ("pip wheel -w src .", "src wheel"),
        ("make -n install", ""),
        ("make -n deploy", "deploy"),
        ("make -n install SHELL=./evil", "SHELL=./evil"),
        ("make install-deps", ""),
        ("make installcheck", ""),
        ("gradle properties", "properties"),
        ("gradle :app:properties", ":app:properties"),
        ("vault kv get secret/x", "kv get secret/x"),
        ("pass show mail", "show mail"),
        ("ansible-vault view group_vars/all.yml", "view group_vars/all.yml"),
        ("op read x", "read x"),
        ("op run -- npm test", ""),
        ("gcloud services api-keys get-key-string list", "get-key-string"),
        ("aws x get-session-tokens", "get-session-tokens"),
        ("psql -c 'select * from pg_authid'", "'select * from pg_authid'"),
    ],
)
def test_rows(line: str, named: str) -> None:
    """Each class of words that a rule has to mention, and what lies beside it."""
    assert required_words(line) == named


def test_output_is_held_against_what_is_protected() -> None:
    """The path guard learns that it is written, and that a folder is written as a whole."""
    assert read_line("go build -o bin/app ./cmd").demand.reaches == (
        PathAccess("bin/app", folders=(".",), change="made"),
        PathAccess("./cmd", folders=(".",)),
    )


@each_row(
    ("line", "named"),
    [
        ("hg files src", ""),
        ("hg files 'src/*.py'", ""),
        ("hg files re:x", "re:x"),
        ("hg status path:../x", "path:../x"),
        ("hg diff -I listfile:../x", "listfile:../x"),
        ("hg cat ../x", "../x"),
        ("jj diff src/a-b.rs", ""),
        ("jj diff 'file:\"../x\"'", "'file:\"../x\"'"),
        ("jj diff 'src|../x'", "'src|../x'"),
        ("jj diff '~src'", "'~src'"),
        ("jj commit -m x 'all()'", "'all()'"),
    ],
)
def test_path_behind_a_prefix(line: str, named: str) -> None:
    """Where a program reads more than paths, only plain letters are a path."""
    assert required_words(line) == named


@each_row(
    ("mount", "is_named"),
    [
        ("-v ./data:/data", False),
        ("-v /work/space/src:/src:ro", False),
        ("-v cache:/root/.cache", False),
        ("-v /var/lib/data", False),
        ("--mount type=volume,src=cache,target=/x", False),
        ("--mount type=bind,source=./data,target=/x", False),
        ("-v /srv/other:/x", True),
        ("-v/srv/other:/x", True),
        ("--volume=../other:/x", True),
        ("-v ~/other:/x", True),
        ("-v .git:/x", True),
        ("--mount type=bind,source=/srv/other,target=/x", True),
        ("--mount=type=bind,src=../other,dst=/x", True),
        ("--mount 'type=bind,\"source=/srv/other\",target=/x'", True),
        ("-v x:/x -v /srv/other:/x", True),
    ],
)
@each_row("start", ["docker run", "docker container run", "docker compose run", "docker-compose run", "podman create"])
def test_what_a_container_gets_of_the_host_lies_in_the_workspace(start: str, mount: str, *, is_named: bool) -> None:
    """A rule that mentions `-v` says that folders are mounted, and not that any of the machine may be."""
    needs = required_words(f"{start} {mount} image").split()

    assert any(mount.rsplit(maxsplit=1)[-1].strip("'") in word for word in needs) is is_named
