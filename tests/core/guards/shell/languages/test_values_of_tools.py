"""Values that developers' programs take: packages, tasks, repositories, queries; each harmless, or to be named."""

from tests.rows import each_row

from toolcharter.guards.shell.languages import objection
from toolcharter.guards.shell.languages.sql import sql

HARMLESS = {
    "ansible_value": ["a=b", '{"a": "b"}'],
    "cmake_switch": ["ASAN=ON", "=Debug", ":STRING=Release", "X=1.2", "="],
    "git_key": ["user.name", "remote.origin.url", "^alias\\.", "branch.main.merge"],
    "task_shown": ["install", "install-strip", "test", "V=1"],
    "git_since": ["main", "HEAD~1", "origin/main"],
    "js_tests": ["tests", "src", "src/a.test.ts", "test/a.js", "a-spec.mjs", "__tests__/a.js"],
    "pnpm_filter": ["web", "./packages/web", "...[origin/main]", "@scope/*"],
    "target_triple": ["x86_64-unknown-linux-musl", "wasm32-wasip1"],
    "unittest_name": [
        "discover",
        "tests",
        "tests.test_a.TestA",
        "test_a",
        "pkg.a_test",
        "test*.py",
        "*_test.py",
        "tests/test_a.py",
    ],
    "aws_value": ["i-0123", "Name=tag:Name,Values=web", "=x", "s3://bucket/key"],
    "database": ["app", "app_test"],
    "gh_endpoint": ["repos/o/r/pulls", "/user", "12"],
    "gh_repository": ["cli/cli", "=cli/cli", "my-org/my.repo"],
    "go_ldflags": ["-s -w", "-X main.version=1.2 -s", "all=-w", "-X=main.a=b"],
    "go_package": [".", "./cmd/app", "main.go"],
    "kube_output": [
        "json",
        "yaml",
        "wide",
        "=wide",
        "name",
        "jsonpath={.items[*].metadata.name}",
        "custom-columns=A:.b",
    ],
    "kube_resource": ["pods", "deploy/web", "pods,services", "secretstores"],
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
    "psql": ["select 1", r"\dt", r"\d+ users", r"\l", r"\dt public.*"],
    "python_version": ["3.12", "cpython@3.12", ">=3.11", "pypy3.10", "=3.12", "python3.12"],
    "sql": [
        "select * from users where name = 'drop table x'",
        "SELECT count(*) FROM t; select 2",
        "with a as (select 1) select * from a",
        "explain select updated_at from t -- delete",
        "pragma table_info(users)",
        "show tables;",
        "",
    ],
    "sqlite": [".tables", ".schema users", "select 1;", "select 'it''s'"],
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
    "yq": [".a.b", '.items[] | select(.kind == "Service")', ".loader"],
}
NAMED = {
    "ansible_value": ["@x.yml", "a={{ lookup('pipe', 'x') }}", "a={% x %}", "a: !unsafe b"],
    "cmake_switch": ["LD=./evil", "X", "X:FILEPATH=evil", "X=a;b", "X=$ENV{PATH}"],
    "git_key": ["http.extraheader", "credential.helper", "url", ".", "user|http", "a.b", ""],
    "task_shown": ["deploy", "install SHELL=x", "X=./install", "../install"],
    "git_since": ["--output=x", "-x"],
    "js_tests": ["evil.js", "./evil.ts", "../a.test.js", "/a.test.js", "latest.js", "~/a.test.js"],
    "pnpm_filter": ["[--output=x]", "...[-x]", "../other"],
    "target_triple": ["evil.json", "./x86_64", "../x.json"],
    "unittest_name": ["evil", "*.py", "../test_a.py", "/test_a.py", "latest"],
    "aws_value": ["file://x.json", "fileb://x", "=file://x", "https://example.com/x", "@x.json", " file://x"],
    "database": ["postgresql://h/d", "host=h dbname=d", "/tmp"],
    "gh_endpoint": ["graphql", "/graphql", "https://example.com/x"],
    "gh_repository": ["example.com/o/r", "https://github.com/o/r", "o"],
    "go_ldflags": ["-linkmode external", "-extld ./evil", "-s -extldflags=-x", "-X 'a"],
    "go_package": ["example.com/x@latest", "golang.org/x/tools/cmd/stringer", "../x", "./../x", "/x/main.go", "./x@v1"],
    "kube_output": ["go-template-file=x", "jsonpath-file=x", "custom-columns-file=x", "templatefile=x", "x"],
    "kube_resource": ["secrets", "secret/db", "pods,secrets", "Secret", "secrets.v1."],
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
    "psql": [r"\! touch x", r"\copy t to x", r"\o x", r"\i x", r"\dt | touch x", "drop table t", r"\dt `x`"],
    "python_version": ["./evil", "/usr/bin/python3", "evil", "python"],
    "sql": [
        "drop table t",
        "select 1; delete from t",
        "with a as (delete from t returning *) select * from a",
        "select * into x from t",
        "copy t to program 'touch x'",
        "select pg_read_file('/etc/passwd')",
        "select lo_import('/etc/passwd')",
        "select load_extension('x')",
        "select writefile('x', 'y')",
        "select E'a\\' ; drop table t",
        "select $$a$$",
        "select 'a",
        "select 1 /* open",
        "attach 'x' as y",
        "pragma writable_schema=1",
        "pragma journal_mode",
        "explain analyze delete from t",
        "set role x",
    ],
    "sqlite": [
        ".shell touch x",
        ".system x",
        ".output x",
        ".once |x",
        ".tables\n.shell x",
        "select 1\n.shell x",
        ".dump | x",
    ],
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
    "yq": ['load("x")', "strenv(A)", "env", "$ENV.A", 'load_str("/etc/passwd")', "eval(.a)"],
}


@each_row("name", HARMLESS)
def test_ordinary_value_needs_no_name(name: str) -> None:
    """It stays with the project, the host that one is logged in to, and what is there to be read."""
    assert [text for text in HARMLESS[name] if objection(name, text) is not None] == []


@each_row("name", NAMED)
def test_value_that_reaches_further_has_to_be_named(name: str) -> None:
    """It starts something, changes data, prints what is secret, or takes what it says from elsewhere."""
    assert [text for text in NAMED[name] if objection(name, text) is None] == []


def test_long_statement_is_read_in_linear_time() -> None:
    """Open texts and comments in great number are no work."""
    assert sql("select " + "'a' /* b */ " * 800) is None
    assert sql("select " + "'" * 9_999) is not None
    assert sql("select /*" + "*" * 9_000) is not None
