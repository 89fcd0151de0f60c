"""What builders and package managers are given; each harmless, or to be mentioned."""

from tests.rows import each_row

from toolcharter.guards.shell.languages import find_objection

HARMLESS = {
    "cmake_switch": ["ASAN=ON", "=Debug", ":STRING=Release", "X=1.2", "="],
    "task_shown": ["install", "install-strip", "test", "V=1"],
    "pnpm_filter": ["web", "./packages/web", "...[origin/main]", "@scope/*"],
    "target_triple": ["x86_64-unknown-linux-musl", "wasm32-wasip1"],
    "go_ldflags": ["-s -w", "-X main.version=1.2 -s", "all=-w", "-X=main.a=b"],
    "go_package": [".", "./cmd/app", "main.go"],
    "package": [
        ".",
        ".[dev, test]",
        "left-pad",
        "@scope/name@1.2.3",
        "react@^18",
        "requests[socks]>=2,<3",
        "a@npm:b@1",
        "numpy==2.0",
    ],
    "python_version": ["3.12", "cpython@3.12", ">=3.11", "pypy3.10", "=3.12", "python3.12"],
    "task": [
        "test",
        "test:unit",
        "build/foo.o",
        "V=1",
        ":app:assembleRelease",
        "lint-fix",
        "released-notes",
        "install-deps",
        "installcheck",
        "reinstall",
    ],
}
NAMED = {
    "cmake_switch": ["LD=./evil", "X", "X:FILEPATH=evil", "X=a;b", "X=$ENV{PATH}"],
    "task_shown": ["deploy", "install SHELL=x", "X=./install", "../install"],
    "pnpm_filter": ["[--output=x]", "...[-x]", "../other"],
    "target_triple": ["evil.json", "./x86_64", "../x.json"],
    "go_ldflags": ["-linkmode external", "-extld ./evil", "-s -extldflags=-x", "-X 'a"],
    "go_package": ["example.com/x@latest", "golang.org/x/tools/cmd/stringer", "../x", "./../x", "/x/main.go", "./x@v1"],
    "package": [
        "git+https://example.com/x",
        "../x",
        "./x",
        "/x",
        "github:o/r",
        "o/r",
        "https://example.com/x.tgz",
        "file:../x",
        "-x",
        "a @ https://example.com/x",
    ],
    "python_version": ["./evil", "/usr/bin/python3", "evil", "python"],
    "task": [
        "deploy",
        "deploy:prod",
        "install",
        "uninstall",
        "install/strip",
        "modules_install",
        "install-bin",
        "properties",
        ":app:properties",
        "printenv",
        "npm-publish",
        "release",
        "publishToMavenLocal",
        "../x",
        "/x",
        "X=$(y)",
        "a b",
        "-x",
    ],
}


@each_row("name", HARMLESS)
def test_ordinary_value_needs_no_name(name: str) -> None:
    """It stays with the project, the host that one is logged in to, and what is there to be read."""
    assert [text for text in HARMLESS[name] if find_objection(name, text) is not None] == []


@each_row("name", NAMED)
def test_value_that_reaches_further_has_to_be_named(name: str) -> None:
    """It starts something, changes data, prints what is secret, or takes what it says from elsewhere."""
    assert [text for text in NAMED[name] if find_objection(name, text) is None] == []
