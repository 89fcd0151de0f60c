"""What clients of servers are given; each harmless, or to be mentioned."""

from tests.rows import each_row

from toolcharter.guards.shell.languages import find_objection

HARMLESS = {
    "ansible_value": ["a=b", '{"a": "b"}'],
    "aws_value": ["i-0123", "Name=tag:Name,Values=web", "=x", "s3://bucket/key"],
    "gh_endpoint": ["repos/o/r/pulls", "/user", "12"],
    "gh_repository": ["cli/cli", "=cli/cli", "my-org/my.repo"],
    "kube_resource": ["pods", "deploy/web", "pods,services", "secretstores"],
}
NAMED = {
    "ansible_value": ["@x.yml", "a={{ lookup('pipe', 'x') }}", "a={% x %}", "a: !unsafe b"],
    "aws_value": ["file://x.json", "fileb://x", "=file://x", "https://example.com/x", "@x.json", " file://x"],
    "gh_endpoint": ["graphql", "/graphql", "https://example.com/x"],
    "gh_repository": ["example.com/o/r", "https://github.com/o/r", "o"],
    "kube_resource": ["secrets", "secret/db", "pods,secrets", "Secret", "secrets.v1."],
}


@each_row("name", HARMLESS)
def test_ordinary_value_needs_no_name(name: str) -> None:
    """It stays with the project, the host that one is logged in to, and what is there to be read."""
    assert [text for text in HARMLESS[name] if find_objection(name, text) is not None] == []


@each_row("name", NAMED)
def test_value_that_reaches_further_has_to_be_named(name: str) -> None:
    """It starts something, changes data, prints what is secret, or takes what it says from elsewhere."""
    assert [text for text in NAMED[name] if find_objection(name, text) is None] == []
