"""What the reading actions answer, as text and as data."""

import pytest

from toolcharter_git.reasons import GitReason


def verdict(result) -> tuple[str, str | None]:
    return result.outcome, result.reason


def test_status_tells_branch_and_changes(repo, call) -> None:
    """Staged, changed, deleted and untracked paths each have their letters."""
    repo.commit("gone.txt")
    repo.write("a.txt", "changed\n")
    repo.write("staged.txt")
    repo.git("add", "staged.txt")
    (repo.path / "gone.txt").unlink()
    repo.write("new file.txt")

    result = call("status")

    assert result.text.splitlines() == [
        "On branch main",
        ".M a.txt",
        ".D gone.txt",
        "A. staged.txt",
        "?? new file.txt",
    ]
    assert result.data == {
        "branch": "main",
        "commit": repo.head(),
        "upstream": None,
        "clean": False,
        "items": [
            {"path": "a.txt", "index": ".", "worktree": "M"},
            {"path": "gone.txt", "index": ".", "worktree": "D"},
            {"path": "staged.txt", "index": "A", "worktree": "."},
            {"path": "new file.txt", "index": "?", "worktree": "?"},
        ],
    }


def test_status_of_a_clean_worktree(repo, call) -> None:
    """Nothing to tell is told."""
    result = call("status")

    assert (result.text, result.data["clean"]) == (
        "On branch main\nNothing to commit, the worktree is clean.",
        True,
    )


def test_status_without_a_branch_or_a_commit(repo, call, bare, build_git) -> None:
    """A detached head is named by its commit; a repository without commits has none."""
    repo.git("checkout", "-q", "--detach")
    empty = repo.path / "empty"
    empty.mkdir()
    type(repo)(empty).git("init", "-q", "-b", "main")

    detached, unborn = call("status"), build_git(empty)(action="status")

    assert detached.text.splitlines()[0] == f"Detached at {repo.head()}"
    assert (unborn.data["branch"], unborn.data["commit"]) == ("main", None)


def test_status_lists_a_conflict(repo, call) -> None:
    """Unmerged paths are marked on both sides."""
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("a.txt", "other\n")
    repo.git("checkout", "-q", "main")
    repo.commit("a.txt", "mine\n")
    try:
        repo.git("merge", "-q", "other")
    except AssertionError:
        result = call("status")

    assert result.data["items"] == [{"path": "a.txt", "index": "U", "worktree": "U"}]


def test_status_is_cut_at_the_limit_of_files(repo, call) -> None:
    """The number of those left out is told, and names with control characters stay on one line."""
    for name in ("b\nc", "d", "e"):
        repo.write(name)

    result = call("status", policy={"max_files": 2})

    assert result.text.splitlines() == ["On branch main", "?? 'b\\nc'", "?? d", "(1 more)"]
    assert len(result.data["items"]) == 2


def test_status_changes_nothing(repo, call) -> None:
    """Looking does not even refresh the index."""
    index = (repo.path / ".git" / "index").read_bytes()
    repo.write("a.txt", (repo.path / "a.txt").read_text())

    call("status")
    call("diff")

    assert (repo.path / ".git" / "index").read_bytes() == index


def test_log_lists_the_latest_commits(repo, call) -> None:
    """Newest first, each with what identifies it."""
    first = repo.head()
    second = repo.commit("b.txt", message="Second\n\nWith a body.")

    result = call("log", max_count="1")

    assert result.text == f"{second[:12]} 2024-05-01 Ada: Second"
    assert result.data == {
        "items": [
            {
                "commit": second,
                "parents": first,
                "author": "Ada",
                "email": "ada@example.org",
                "date": "2024-05-01T12:00:00+00:00",
                "subject": "Second",
            }
        ],
        "truncated": False,
    }


@pytest.mark.parametrize(
    ("asked", "is_cut"), [(10, True), (999_999_999, True), (10**9, True), ("9" * 5000, True), ("02", False), (2, False)]
)
def test_log_lists_no_more_than_the_policy_permits_and_says_so(repo, call, asked: int | str, is_cut: bool) -> None:  # noqa: FBT001 - a row
    """However many a call asks for; a call that asks for no more is not told of a cut."""
    repo.commit("b.txt", message="Second")
    repo.commit("c.txt", message="Third")

    result = call("log", policy={"max_commits": 2}, max_count=asked)

    notice = "[truncated: only the latest 2 commits are listed]"
    assert [item["subject"] for item in result.data["items"]] == ["Third", "Second"]
    assert (result.text.endswith(notice), result.data["truncated"], result.truncated) == (is_cut,) * 3


def test_a_log_that_is_longer_than_what_is_read_of_git_says_so(repo, call) -> None:
    """Commits that do not fit are not left out in silence."""
    for number in range(12):
        repo.commit(f"{number}.txt", message=f"{number} " + "x" * 900)

    result = call("log", policy={"max_output_chars": 1000}, max_count=12)

    assert 0 < len(result.data["items"]) < 12
    assert (result.data["truncated"], result.truncated) == (True, True)


@pytest.mark.parametrize(
    ("args", "subjects"),
    [
        pytest.param({}, ["Third", "Second", "First"], id="all"),
        pytest.param({"max_count": 2}, ["Third", "Second"], id="count"),
        pytest.param({"ref": "HEAD~1"}, ["Second", "First"], id="ref"),
        pytest.param({"ref": "HEAD~2..HEAD"}, ["Third", "Second"], id="range"),
        pytest.param({"ref": "HEAD~1.."}, ["Third"], id="open range"),
        pytest.param({"ref": "HEAD~1...HEAD"}, ["Third"], id="symmetric range"),
        pytest.param({"paths": ["b.txt"]}, ["Second"], id="path"),
        pytest.param({"paths": ["*.txt"]}, [], id="a glob is a name"),
        pytest.param({"paths": [":(top)b.txt"]}, [], id="pathspec magic is a name"),
        pytest.param({"paths": ["--all"]}, [], id="an option is a name"),
    ],
)
def test_log_of_a_part_of_history(repo, call, args, subjects) -> None:
    """References, ranges, numbers and literal paths narrow the list."""
    repo.commit("b.txt", message="Second")
    repo.commit("c.txt", message="Third")

    result = call("log", **args)

    assert [item["subject"] for item in result.data["items"]] == subjects
    assert bool(subjects) == (result.text != "No commits.")


def test_show_of_a_commit(repo, call) -> None:
    """The message and the changes against the first parent."""
    commit = repo.commit("a.txt", "one\n2\nthree\n", "Second\n\nBody.")

    result = call("show", policy={"context_lines": 0})

    assert result.text.startswith(f"commit {commit}\nAuthor: Ada <ada@example.org>\n")
    assert "\n\nSecond\n\nBody.\n\ndiff --git a/a.txt b/a.txt\n" in result.text
    assert result.text.endswith("@@ -2 +2 @@ one\n-two\n+2")
    assert (result.data["kind"], result.data["message"]) == ("commit", "Second\n\nBody.")
    assert result.data["files"] == [{"path": "a.txt", "added": 1, "deleted": 1}]


def test_show_of_the_first_commit_and_of_a_binary_file(repo, call) -> None:
    """What has no parent is shown against nothing; a binary file has no counts."""
    (repo.path / "bin").write_bytes(b"\0\1\2")
    repo.git("add", "-A")
    repo.git("commit", "-q", "--amend", "-m", "Only")

    assert call("show").data["files"] == [
        {"path": "a.txt", "added": 3, "deleted": 0},
        {"path": "bin", "added": None, "deleted": None},
    ]


def test_show_of_a_file_and_a_folder(repo, call) -> None:
    """`REF:path` gives what lay there, `REF:` the top."""
    repo.commit("src/a.py", "print()\n")
    repo.commit("src/.env", "KEY=1\n")

    shown = [call("show", ref=ref) for ref in ("HEAD:src/a.py", "HEAD:src", "HEAD:")]

    assert [each.text for each in shown] == ["print()\n", "a.py", "a.txt\nsrc/"]
    assert [each.data["kind"] for each in shown] == ["file", "folder", "folder"]
    assert shown[0].data["content"] == "print()\n"


def test_show_of_a_submodule_is_an_error(repo, call) -> None:
    """A pointer to a commit of another repository has no content here."""
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},sub")
    repo.git("commit", "-q", "-m", "Sub")

    assert verdict(call("show", ref="HEAD:sub")) == ("error", "git_show_failed")


@pytest.mark.parametrize(
    "ref", ["HEAD:.env", "HEAD:sub/.ENV", "HEAD:./.env", "HEAD:sub//.env.local", "HEAD:.toolcharter/x"]
)
@pytest.mark.parametrize("action", ["show", "rev_parse"])
def test_protected_files_have_no_history(repo, call, action, ref) -> None:
    """A name that may not be read now may not be read as it was, nor be turned into an id."""
    repo.commit(".env", "KEY=1\n")

    assert verdict(call(action, ref=ref)) == ("denied", "protected_path")


@pytest.mark.parametrize("action", ["log", "diff", "status"])
def test_protected_paths_are_not_looked_up(call, action) -> None:
    """A path that is named is judged before git hears of it."""
    assert verdict(call(action, paths=[".env"])) == ("denied", "protected_path")


def test_diffs_leave_protected_files_out(repo, call) -> None:
    """Their content is not shown by way of a patch either, and the gap is told."""
    repo.commit(".env", "KEY=1\n", "Env")
    only, both = call("show"), repo.commit("b.txt", "x\n", "More")
    both = call("diff", ref="HEAD~2", head_ref=both)

    assert (only.data["files"], only.data["left_out"], only.data["content"]) == ([], 1, "")
    assert [item["path"] for item in both.data["files"]] == ["b.txt"]
    assert both.text.endswith("+x\n(1 protected file(s) left out)")
    assert "KEY" not in only.text + both.text


def test_rev_parse_gives_an_id(repo, call) -> None:
    """A revision or a file in one."""
    results = [call("rev_parse", ref=ref) for ref in ("", "main", "HEAD:a.txt")]

    assert [each.text for each in results] == [repo.head(), repo.head(), repo.head("HEAD:a.txt")]
    assert results[0].data == {"ref": "HEAD", "id": repo.head()}


def test_diff_with_the_worktree_and_between_commits(repo, call) -> None:
    """Without the other end a diff goes to the worktree, staged or not."""
    base = repo.head()
    repo.commit("b.txt", "x\n")
    repo.write("a.txt", "one\n2\nthree\n")

    worktree, commits = call("diff"), call("diff", ref="HEAD~1", head_ref="HEAD")

    assert (worktree.data["base"], worktree.data["head"]) == (repo.head(), None)
    assert worktree.data["files"] == [{"path": "a.txt", "added": 1, "deleted": 1}]
    assert (commits.data["base"], commits.data["head"]) == (base, repo.head())
    assert commits.data["files"] == [{"path": "b.txt", "added": 1, "deleted": 0}]
    assert call("diff", ref="HEAD", head_ref="HEAD").text == "No changes."


@pytest.mark.parametrize(("limit", "expected"), [pytest.param(2, "ok", id="at"), pytest.param(1, "denied", id="past")])
def test_a_diff_of_many_files_is_denied(repo, call, limit, expected) -> None:
    """The limit counts files, not lines."""
    repo.write("b.txt")
    repo.commit("c.txt")

    result = call("diff", policy={"max_files": limit}, ref="HEAD~1", head_ref="HEAD")

    assert (result.outcome, result.reason) == (expected, None if expected == "ok" else "too_many_files")


def test_diff_since_starts_at_the_last_commit_before(repo, call) -> None:
    """The date names a commit, and the changes since it are shown."""
    repo.commit("b.txt", "x\n")

    found, before = call("diff_since", since="2024-06-01"), call("diff_since", since="2020-01-01")

    assert (found.data["base"], found.text) == (repo.head(), "No changes.")
    assert verdict(before) == ("error", "no_commit_before_since")


def test_long_content_ends_with_a_whole_line(repo, call) -> None:
    """The gate cuts the text; what is kept for it and for the data never ends inside a line."""
    repo.commit("long.txt", ("x" * 99 + "\n") * 1000)
    repo.commit("wide.txt", "y" * 100_000)

    lines, line = (
        call("show", policy={"max_output_chars": 100}, ref=f"HEAD:{name}") for name in ("long.txt", "wide.txt")
    )

    assert (len(lines.text), lines.truncated, len(line.text), line.truncated) == (100, True, 100, True)
    assert lines.data["content"] == ("x" * 99 + "\n") * 44
    assert line.data["content"] == "y" * 4496


@pytest.mark.parametrize(
    ("action", "args", "reason"),
    [
        pytest.param("log", {"ref": "HEAD:a.txt"}, GitReason.INVALID_REF, id="log of a file"),
        pytest.param("diff", {"ref": "HEAD:a.txt"}, GitReason.INVALID_REF, id="diff of a file"),
        pytest.param("diff", {"ref": "HEAD..HEAD"}, GitReason.INVALID_REF, id="diff of a range"),
        pytest.param("show", {"ref": "HEAD..HEAD"}, GitReason.INVALID_REF, id="show of a range"),
        pytest.param("show", {"ref": "HEAD:../a"}, GitReason.INVALID_REF, id="path upwards"),
        pytest.param("show", {"ref": "HEAD:/etc"}, GitReason.INVALID_REF, id="absolute path"),
        pytest.param("show", {"ref": ":a.txt"}, GitReason.INVALID_REF, id="index entry"),
        pytest.param("show", {"ref": "^main"}, GitReason.INVALID_REF, id="exclusion"),
        pytest.param("show", {"ref": "x" * 256}, GitReason.INVALID_REF, id="too long"),
        pytest.param("rev_parse", {"ref": "--git-dir"}, GitReason.INVALID_REF, id="option"),
        pytest.param("rev_parse", {"ref": "nothing"}, GitReason.GIT_REV_PARSE_FAILED, id="unknown name"),
        pytest.param("diff", {"ref": "nothing"}, GitReason.GIT_DIFF_FAILED, id="unknown end of a diff"),
        pytest.param("log", {"max_count": 0}, GitReason.INVALID_MAX_COUNT, id="no commits"),
        pytest.param("log", {"max_count": -1}, GitReason.INVALID_MAX_COUNT, id="negative"),
        pytest.param("log", {"max_count": "²"}, GitReason.INVALID_MAX_COUNT, id="another digit"),
        pytest.param("diff_since", {}, GitReason.EMPTY_SINCE, id="no date"),
        pytest.param("diff_since", {"since": "--all"}, GitReason.INVALID_SINCE_FORMAT, id="option as a date"),
        pytest.param("log", {"paths": [""]}, "invalid_path", id="empty path"),
        pytest.param("log", {"paths": ["a\0b"]}, "invalid_path", id="NUL in a path"),
    ],
)
def test_malformed_arguments_are_errors(call, action, args, reason) -> None:
    """Each has its reason, and no sign of a denial."""
    assert verdict(call(action, **args)) == ("error", reason)


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "a/../../b"])
def test_paths_outside_are_denied(call, path) -> None:
    """What lies outside is forbidden, not malformed."""
    assert verdict(call("log", paths=[path])) == ("denied", "path_outside_workspace")


def test_a_pattern_cannot_open_what_is_always_refused(call) -> None:
    """`ref_pattern` narrows: options, spaces and reflogs stay out under the widest pattern."""
    policy = {"ref_pattern": r"(?s).*"}

    refused = [call("show", policy=policy, ref=ref) for ref in ("--all", "HEAD@{1}", "HEAD^{/x:y}:.env", "a b", ":/x")]

    assert {verdict(each) for each in refused} == {("error", "invalid_ref")}


@pytest.mark.parametrize("present", [None, "a certificate\n"], ids=["absent", "harmless"])
def test_a_file_that_is_hidden_for_its_content_stays_so_in_history(repo, call, present: str | None) -> None:
    """What another branch has under the name says nothing of what a commit holds: the agent chooses the branch."""
    word = "hunter" + "2"
    old = repo.head()
    new = repo.commit("key.pem", "-----BEGIN " + f"PRIVATE KEY-----\n{word}\n")
    repo.git("checkout", "-q", old)
    if present:
        repo.write("key.pem", present)

    answers = [
        call("show", ref=f"{new}:key.pem"),
        call("show", ref=new),
        call("diff", ref=old, head_ref=new),
        call("diff", ref=old),
    ]

    assert not any(word in answer.text for answer in answers)
    assert verdict(answers[0]) == ("denied", "protected_path")
    assert answers[1].text.endswith("(1 protected file(s) left out)")
    assert answers[2].text == "(1 protected file(s) left out)"
