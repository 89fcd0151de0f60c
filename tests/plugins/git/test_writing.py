"""What the writing actions do, and what keeps them from doing it."""

import pytest

FIXER = {
    "allowed_actions": ["status", "create_branch", "checkout", "add", "commit", "tag", "push"],
    "managed_branch_prefix": "agent/",
    "allow_push": True,
    "allowed_remotes": ["origin"],
    "tag_pattern": r"v[0-9]+",
}
FREE = {**FIXER, "managed_branch_prefix": ""}


def verdict(result) -> tuple[str, str | None]:
    return result.outcome, result.reason


def test_the_whole_way_of_a_fix(repo, bare, call) -> None:
    """From main: a first managed branch, a change, a commit that is exactly the worktree, and its push."""
    policy = {**FIXER, "remote_urls": {"origin": f"file://{bare.path}"}}
    made = call("create_branch", policy=policy, branch="fix")
    repo.write("a.txt", "fixed\n")
    added = call("add", policy=policy, paths=["a.txt"])
    committed = call("commit", policy=policy, message="Fix it\n\nBecause.")
    pushed = call("push", policy=policy, remote="origin")

    assert [each.text for each in (made, added, committed, pushed)] == [
        "On branch agent/fix",
        "Added 1 file(s):\na.txt",
        f"Committed {repo.head()[:12]} on agent/fix",
        "Pushed refs/heads/agent/fix to origin: [new branch]",
    ]
    assert [each.data for each in (made, added, committed, pushed)] == [
        {"branch": "agent/fix"},
        {"items": ["a.txt"]},
        {"commit": repo.head(), "branch": "agent/fix"},
        {"remote": "origin", "ref": "refs/heads/agent/fix", "id": repo.head(), "summary": "[new branch]"},
    ]
    assert repo.git("log", "-1", "--format=%B%an <%ae>") == (
        "Fix it\n\nBecause.\ntoolcharter agent <agent@toolcharter.invalid>"
    )
    assert bare.git("for-each-ref", "--format=%(refname) %(objectname)") == f"refs/heads/agent/fix {repo.head()}"


def test_a_release_is_a_tag_and_its_push(repo, bare, call) -> None:
    """An annotated tag at a named commit, pushed under its own name."""
    policy = {**FREE, "remote_urls": {"origin": f"file://{bare.path}"}, "allowed_branches": ["main"]}
    first = repo.head()
    repo.commit("b.txt")

    tagged = call("tag", policy=policy, tag="v1", message="One", ref="HEAD~1")
    pushed = call("push", policy=policy, remote="origin", tag="v1")

    assert (tagged.data, repo.git("cat-file", "-t", "v1")) == ({"tag": "v1", "commit": first}, "tag")
    assert pushed.data["ref"] == "refs/tags/v1"
    assert bare.git("for-each-ref", "--format=%(refname)") == "refs/tags/v1"


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        pytest.param("", ("error", "empty_tag"), id="empty"),
        pytest.param("-d", ("error", "invalid_tag"), id="option"),
        pytest.param("latest", ("denied", "tag_not_allowed"), id="another pattern"),
        pytest.param("v1-rc", ("denied", "tag_not_allowed"), id="the pattern covers the whole name"),
        pytest.param("v1", ("error", "git_tag_failed"), id="taken"),
    ],
)
def test_tags_that_are_not_made(repo, call, tag, expected) -> None:
    """Only tags that the policy's pattern covers, and never over an existing one."""
    repo.git("tag", "v1")
    before = repo.git("for-each-ref", "refs/tags")

    result = call("tag", policy=FREE, tag=tag, message="x")

    assert (verdict(result), repo.git("for-each-ref", "refs/tags")) == (expected, before)


def test_without_a_pattern_there_are_no_tags(call) -> None:
    """The default lets nothing through."""
    result = call("tag", policy={**FREE, "tag_pattern": ""}, tag="v1", message="x")

    assert verdict(result) == ("denied", "tag_not_allowed")


@pytest.mark.parametrize("action", ["add", "commit", "tag", "push"])
def test_writes_need_a_managed_branch(repo, call, action) -> None:
    """The refusal names the branch and the way out."""
    result = call(action, policy=FIXER, paths=["a.txt"], message="x", tag="v1", remote="origin")

    assert verdict(result) == ("denied", "branch_prefix_required")
    assert (result.message, result.hint) == (
        "The current branch 'main' does not begin with 'agent/'.",
        "Use create_branch or checkout first: they put 'agent/' before the name.",
    )


def test_a_prefix_without_its_separator_gets_one(repo, call) -> None:
    """`agent` does not cover `agent-of-somebody-else`."""
    policy = {**FIXER, "managed_branch_prefix": "agent"}
    repo.git("checkout", "-q", "-b", "agent-of-somebody-else")

    assert verdict(call("commit", policy=policy, message="x")) == ("denied", "branch_prefix_required")
    assert call("create_branch", policy=policy, branch="x").data == {"branch": "agent/x"}


def test_a_branch_can_begin_at_a_named_commit(repo, call) -> None:
    """`ref` is the start, and it must exist."""
    first = repo.head()
    repo.commit("b.txt")

    results = [
        call("create_branch", policy=FREE, branch="old", ref="HEAD~1"),
        call("create_branch", policy=FREE, branch="bad", ref="nothing"),
        call("create_branch", policy=FREE, branch="old"),
    ]

    assert list(map(verdict, results)) == [("ok", None), *[("error", "git_create_branch_failed")] * 2]
    assert (repo.branch(), repo.head()) == ("old", first)


def test_the_first_branch_of_an_empty_repository(repo, build_git) -> None:
    """A branch without a commit can be left for a managed one."""
    path = repo.path / "empty"
    path.mkdir()
    empty = type(repo)(path)
    empty.git("init", "-q", "-b", "main")

    result = build_git(path, **FIXER)(action="create_branch", branch="x")

    assert (verdict(result), empty.branch()) == (("ok", None), "agent/x")


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        pytest.param("", ("error", "empty_branch"), id="empty"),
        pytest.param(" \t", ("error", "empty_branch"), id="blank"),
        pytest.param("a.txt", ("error", "git_checkout_failed"), id="a file"),
        pytest.param(".", ("error", "invalid_branch"), id="the folder"),
        pytest.param("--", ("error", "invalid_branch"), id="end of options"),
        pytest.param("-f", ("error", "invalid_branch"), id="option"),
        pytest.param("HEAD", ("error", "invalid_branch"), id="HEAD"),
        pytest.param("a..b", ("error", "invalid_branch"), id="range"),
        pytest.param("x.lock", ("error", "invalid_branch"), id="lock"),
        pytest.param("a/-b", ("error", "invalid_branch"), id="dash in a part"),
        pytest.param("x" * 256, ("error", "invalid_branch"), id="too long"),
        pytest.param("v1", ("error", "git_checkout_failed"), id="a tag"),
        pytest.param("elsewhere", ("error", "git_checkout_failed"), id="a remote branch"),
    ],
)
def test_checkout_takes_local_branches_only(repo, call, branch, expected) -> None:
    """Neither a file nor a tag nor a guess: work in the worktree stays as it is."""
    repo.git("tag", "v1")
    repo.git("update-ref", "refs/remotes/origin/elsewhere", "HEAD")
    repo.write("a.txt", "work\n")

    result = call("checkout", policy={**FREE, "allow_worktree_dirty": True}, branch=branch)

    assert (verdict(result), repo.branch(), repo.path.joinpath("a.txt").read_text()) == (expected, "main", "work\n")


@pytest.mark.parametrize("kind", ["changed", "untracked", "ignored"])
def test_checkout_never_throws_work_away(repo, call, kind) -> None:
    """What the other branch would overwrite stays, ignored files too."""
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("a.txt", "other\n")
    repo.commit("new.txt", "other\n")
    repo.git("checkout", "-q", "main")
    name = "a.txt" if kind == "changed" else "new.txt"
    repo.write(name, "work\n")
    if kind == "ignored":
        repo.commit(".gitignore", "new.txt\n")

    result = call("checkout", policy={**FREE, "allow_worktree_dirty": True}, branch="other")

    assert verdict(result) == ("error", "git_checkout_failed")
    assert (repo.branch(), (repo.path / name).read_text()) == ("main", "work\n")


@pytest.mark.parametrize("action", ["create_branch", "checkout", "tag", "push", "commit"])
@pytest.mark.parametrize("change", ["a.txt", "new.txt"])
def test_uncommitted_changes_stand_in_the_way(repo, call, action, change) -> None:
    """Changed and untracked files deny, unless the policy lets them be."""
    repo.write(change, "work\n")

    result = call(action, policy=FREE, branch="x", tag="v1", message="x", remote="origin")

    assert verdict(result) == ("denied", "dirty_worktree")
    assert result.message == f"The worktree has 1 uncommitted change(s); the first is {change!r}."


def test_a_commit_needs_everything_added(repo, call) -> None:
    """Partly added changes are no commit; with the policy's leave they are, and the rest stays."""
    repo.write("a.txt", "staged\n")
    repo.git("add", "a.txt")
    repo.write("a.txt", "staged, then changed\n")

    strict = call("commit", policy=FREE, message="x")
    loose = call("commit", policy={**FREE, "allow_worktree_dirty": True}, message="x")

    assert [verdict(strict), verdict(loose)] == [("denied", "dirty_worktree"), ("ok", None)]
    assert (repo.git("show", "HEAD:a.txt"), repo.git("diff", "--name-only")) == ("staged", "a.txt")


def test_protected_files_do_not_stand_in_the_way(repo, call) -> None:
    """What may not be added cannot be asked for before a commit."""
    repo.write(".env", "KEY=1\n")
    repo.write("b.txt")
    call("add", policy=FREE, paths=["."])

    assert verdict(call("commit", policy=FREE, message="x")) == ("ok", None)
    assert repo.git("ls-tree", "--name-only", "HEAD").split() == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("", ("error", "empty_commit_message"), id="empty"),
        pytest.param(" \n\t", ("error", "empty_commit_message"), id="blank"),
        pytest.param("a\0b", ("error", "empty_commit_message"), id="NUL"),
        pytest.param("# only a comment", ("ok", None), id="a hash is text"),
        pytest.param("--amend", ("ok", None), id="an option is text"),
    ],
)
def test_messages_are_text(repo, call, message, expected) -> None:
    """A message reaches git by its standard input and is never an argument."""
    repo.write("b.txt")
    repo.git("add", "-A")

    assert verdict(call("commit", policy=FREE, message=message)) == expected
    if expected[0] == "ok":
        assert repo.git("log", "-1", "--format=%B") == message


def test_nothing_staged_is_nothing_to_commit(call) -> None:
    """No empty commits."""
    result = call("commit", policy=FREE, message="x")

    assert (verdict(result), result.hint) == (("error", "git_commit_failed"), "Use add first.")


def test_the_configured_author_is_kept(repo, call) -> None:
    """Where the repository names somebody, the policy's author steps back."""
    repo.git("config", "user.name", "Grace")
    repo.git("config", "user.email", "grace@example.org")
    repo.write("b.txt")
    repo.git("add", "-A")

    call("commit", policy=FREE, message="x")

    assert repo.git("log", "-1", "--format=%an <%ae>") == "Grace <grace@example.org>"


def test_add_stages_new_changed_and_deleted_files(repo, call) -> None:
    """Everything below a folder that differs, and nothing besides."""
    repo.commit("sub/gone.txt")
    (repo.path / "sub" / "gone.txt").unlink()
    repo.write("sub/new\nline.txt")
    repo.write("a.txt", "changed\n")

    result = call("add", policy=FREE, paths=["./sub//"])

    assert result.data == {"items": ["sub/gone.txt", "sub/new\nline.txt"]}
    assert (
        sorted(repo.git("diff", "--cached", "--name-only", "--no-renames", "-z").split("\0")[:-1])
        == result.data["items"]
    )


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        pytest.param([], ("error", "empty_paths"), id="none"),
        pytest.param(["*"], ("error", "git_add_failed"), id="a glob is a name"),
        pytest.param([":(top)b.txt"], ("error", "git_add_failed"), id="pathspec magic is a name"),
        pytest.param(["-A"], ("error", "git_add_failed"), id="an option is a name"),
        pytest.param(["missing"], ("error", "git_add_failed"), id="missing"),
        pytest.param(["../outside"], ("denied", "path_outside_workspace"), id="outside"),
        pytest.param(["/etc/passwd"], ("denied", "path_outside_workspace"), id="absolute"),
        pytest.param([".env"], ("denied", "protected_path"), id="protected"),
        pytest.param([".git/config"], ("denied", "protected_path"), id="the repository"),
        pytest.param(["link/secret"], ("error", "git_add_failed"), id="beyond a link"),
    ],
)
def test_paths_that_are_not_added(repo, call, tmp_path, paths, expected) -> None:
    """Nothing is staged by a call that is refused."""
    (tmp_path / "secret").write_text("x")
    repo.write(".gitignore", "link\n")
    repo.commit("tracked.txt")
    (repo.path / "link").symlink_to(tmp_path)
    repo.write("b.txt")
    repo.write(".env", "KEY=1\n")

    result = call("add", policy=FREE, paths=paths)

    assert (verdict(result), repo.git("diff", "--cached", "--name-only")) == (expected, "")


@pytest.mark.parametrize(("limit", "expected"), [pytest.param(2, "ok", id="at"), pytest.param(1, "denied", id="past")])
def test_many_files_are_not_added_at_once(repo, call, limit, expected) -> None:
    """The limit of files holds for `add` as for diffs."""
    repo.write("b.txt")
    repo.write("c.txt")

    result = call("add", policy={**FREE, "max_files": limit}, paths=["."])

    assert (result.outcome, result.reason) == (expected, None if expected == "ok" else "too_many_files")


def test_only_listed_branches_are_pushed(repo, bare, call) -> None:
    """One branch, by its full name; a branch that does not exist is an error."""
    policy = {**FREE, "remote_urls": {"origin": f"file://{bare.path}"}, "allowed_branches": ["main", "missing"]}
    repo.git("branch", "other")

    results = [call("push", policy=policy, remote="origin", branch=name) for name in ("main", "other", "missing")]

    assert list(map(verdict, results)) == [("ok", None), ("denied", "branch_not_allowed"), ("error", "git_push_failed")]
    assert bare.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_history_of_others_is_not_overwritten(repo, bare, call) -> None:
    """A push that is no fast-forward fails, whatever the repository's configuration asks for."""
    policy = {**FREE, "remote_urls": {"origin": f"file://{bare.path}"}}
    repo.commit("b.txt")
    call("push", policy=policy, remote="origin")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("config", "remote.origin.push", "+refs/heads/*:refs/heads/*")
    repo.commit("c.txt")

    result = call("push", policy=policy, remote="origin")

    assert verdict(result) == ("error", "git_push_failed")
    assert "fast-forward" in str(result.message) or "rejected" in str(result.message)


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c 'touch canary'",
        "file:///tmp/somewhere",
        "/tmp/somewhere",
        "../somewhere",
        "git://host.invalid/x",
        "http://host.invalid/x",
        "-oProxyCommand=x:y",
        "ssh://-oProxyCommand=x/y",
        "git@-oProxyCommand=x:y",
        "https://host.invalid::x/y",
    ],
)
def test_a_remote_that_the_repository_bends_is_denied(repo, call, url) -> None:
    """Without a pinned URL only https and ssh leave the machine, and nothing else leaves at all."""
    repo.git("config", "remote.origin.url", url)

    assert verdict(call("push", policy=FREE, remote="origin")) == ("denied", "remote_not_allowed")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("remote.origin.pushurl", "https://host.invalid/x"),
        ("remote.origin.receivepack", "true"),
        ("remote.origin.uploadpack", "true"),
        ("remote.origin.vcs", "ext"),
        ("remote.origin.proxy", "http://host.invalid"),
        ("remote.origin.mirror", "true"),
        ("remote.https://host.invalid/x.receivepack", "true"),
        ("url.https://host.invalid/.insteadOf", "file://"),
        ("url.https://host.invalid/.pushInsteadOf", "file://"),
        ("http.proxy", "http://host.invalid"),
        ("http.https://host.invalid.sslVerify", "false"),
        ("core.gitProxy", "true"),
    ],
)
def test_a_configuration_that_bends_pushes_is_refused(repo, bare, call, key, value) -> None:
    """Even a pinned remote is not pushed to, while reading goes on."""
    policy = {**FREE, "remote_urls": {"origin": f"file://{bare.path}"}}
    repo.git("config", key, value)

    results = [call("push", policy=policy, remote="origin"), call("status", policy=policy)]

    assert list(map(verdict, results)) == [("denied", "unsafe_repository_config"), ("ok", None)]
    assert bare.git("for-each-ref") == ""


def test_a_header_for_credentials_is_no_hindrance(repo, bare, call) -> None:
    """CI checkouts authenticate by one, and it moves nothing."""
    repo.git("config", "http.https://host.invalid/.extraHeader", "X-Nothing: 1")

    assert verdict(
        call("push", policy={**FREE, "remote_urls": {"origin": f"file://{bare.path}"}}, remote="origin")
    ) == (
        "ok",
        None,
    )


@pytest.mark.parametrize(("urls", "count"), [([], 0), (["https://a.invalid/x", "https://b.invalid/x"], 2)])
def test_a_remote_has_one_url(repo, call, urls, count) -> None:
    """A push goes to one place."""
    for url in urls:
        repo.git("config", "--add", "remote.origin.url", url)

    result = call("push", policy=FREE, remote="origin")

    assert (verdict(result), result.message) == (
        ("error", "git_push_failed"),
        f"the remote 'origin' has {count} URLs, not one.",
    )


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("", ("error", "empty_remote")),
        (" \n", ("error", "empty_remote")),
        ("upstream", ("denied", "remote_not_allowed")),
    ],
)
def test_only_listed_remotes_are_pushed_to(call, remote, expected) -> None:
    """A remote is named, and the policy lists it."""
    assert verdict(call("push", policy=FREE, remote=remote)) == expected


@pytest.mark.parametrize(("argument", "reason"), [("branch", "empty_branch"), ("tag", "empty_tag")])
def test_a_blank_name_is_not_one_that_was_left_out(call, argument, reason) -> None:
    """The current branch is pushed where none is named, not where a blank one is."""
    assert verdict(call("push", policy=FREE, remote="origin", **{argument: "  "})) == ("error", reason)


@pytest.mark.parametrize("action", ["create_branch", "checkout", "add", "commit", "tag", "push"])
def test_writing_without_a_repository_is_an_error(tmp_path, build_git, action) -> None:
    """There is no branch to speak of."""
    result = build_git(tmp_path, **FREE)(action=action, tag="v1", remote="origin")

    assert verdict(result) == ("error", "branch_resolution_failed")


@pytest.mark.parametrize(
    ("action", "arguments", "expected"),
    [
        ("push", {"remote": "upstream"}, ("denied", "remote_not_allowed")),
        ("push", {"remote": "origin", "branch": "topic"}, ("denied", "branch_not_allowed")),
        ("push", {"remote": "origin", "tag": "nightly"}, ("denied", "tag_not_allowed")),
        ("tag", {"tag": "nightly"}, ("denied", "tag_not_allowed")),
    ],
)
def test_what_the_policy_alone_forbids_needs_no_repository(tmp_path, build_git, action, arguments, expected) -> None:
    """A profile's cases show these denials wherever they run."""
    policy = {**FREE, "tag_pattern": "v[0-9]+", "allowed_branches": ["main"]}

    assert verdict(build_git(tmp_path, **policy)(action=action, **arguments)) == expected


@pytest.mark.parametrize("action", ["create_branch", "checkout", "commit", "tag", "push"])
def test_a_worktree_that_cannot_be_inspected_is_not_taken_for_clean(repo, call, action) -> None:
    """A broken index says nothing about what would be lost."""
    (repo.path / ".git" / "index").write_bytes(b"broken")

    result = call(action, policy=FREE, branch="x", tag="v1", message="x", remote="origin")

    assert verdict(result) == ("error", "worktree_inspection_failed")
