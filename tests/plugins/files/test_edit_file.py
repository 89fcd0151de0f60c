"""`edit_file`: exact replacement, its errors, encodings, and the diff."""

import codecs
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcharter_files.edits import edit_changes, find_occurrences, format_unified_diff, line_numbers, whole_change


def test_text_is_replaced_once(call, workspace: Path) -> None:
    """The one place changes, and the result says where it was."""
    result = call("edit_file", path="a.txt", old_string="two", new_string="2")

    assert (result.outcome, result.text) == ("ok", "Edited file: a.txt (1 replacement)")
    assert result.data == {"path": "a.txt", "replacements": 1, "lines": [2]}
    assert result.user_text == "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    assert (workspace / "a.txt").read_text() == "one\n2\nthree\n"


def test_text_is_replaced_everywhere(call, workspace: Path) -> None:
    """With `replace_all` every place changes."""
    result = call("edit_file", path="a.txt", old_string="e", new_string="E", replace_all=True)

    assert (result.text, result.data["lines"]) == ("Edited file: a.txt (3 replacements)", [1, 3, 3])
    assert (workspace / "a.txt").read_text() == "onE\ntwo\nthrEE\n"


@pytest.mark.parametrize(
    ("args", "reason", "message"),
    [
        pytest.param(
            {"old_string": "four", "new_string": ""},
            "text_not_found",
            "old_string was not found in file: a.txt",
            id="none",
        ),
        pytest.param(
            {"old_string": "e", "new_string": ""},
            "text_not_unique",
            "old_string matched 3 locations in a.txt. Provide a more specific old_string or set replace_all=true. "
            "The matches begin in the lines 1, 3, 3.",
            id="many",
        ),
        pytest.param(
            {"old_string": "", "new_string": "x"},
            "empty_old_string",
            "old_string is empty; give the text to replace.",
            id="empty",
        ),
        pytest.param(
            {"path": "none", "old_string": "x", "new_string": ""},
            "path_not_found",
            "'none' does not exist.",
            id="missing",
        ),
        pytest.param(
            {"path": "sub", "old_string": "x", "new_string": ""}, "is_directory", "'sub' is a folder.", id="folder"
        ),
    ],
)
def test_what_cannot_be_edited_is_left_alone(call, workspace: Path, args, reason: str, message: str) -> None:
    """Each error says what is wrong, and the file is as it was."""
    result = call("edit_file", **{"path": "a.txt", **args})

    assert (result.outcome, result.reason, result.message) == ("error", reason, message)
    assert (workspace / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_many_places_are_not_all_told(call, workspace: Path) -> None:
    """Twenty lines are enough to see what is meant."""
    (workspace / "many").write_text("x\n" * 21)

    message = call("edit_file", path="many", old_string="x", new_string="").message

    assert message.endswith("The matches begin in the lines " + ", ".join(map(str, range(1, 21))) + ", ....")


def test_line_ends_are_hinted_at(call, workspace: Path) -> None:
    """A model that forgets the carriage returns learns of them."""
    (workspace / "dos.txt").write_bytes(b"one\r\ntwo\r\n")

    missed = call("edit_file", path="dos.txt", old_string="one\ntwo", new_string="x")
    hit = call("edit_file", path="dos.txt", old_string="one\r\ntwo", new_string="x")

    assert (missed.reason, missed.hint) == (
        "text_not_found",
        r"The lines of this file end with \r\n; old_string must have the same line ends.",
    )
    assert (hit.outcome, (workspace / "dos.txt").read_bytes()) == ("ok", b"x\r\n")


def test_nothing_to_change_writes_nothing(call, workspace: Path) -> None:
    """The same text again is no change, and no error."""
    before = (workspace / "a.txt").stat()

    result = call("edit_file", path="a.txt", old_string="two", new_string="two")

    after = (workspace / "a.txt").stat()
    assert (result.outcome, result.text, result.user_text) == ("ok", "Edited file: a.txt (no change)", None)
    # Not the time of access: to read it is to access it.
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


@pytest.mark.parametrize(
    ("raw", "encoding", "expected"),
    [
        pytest.param("ä x".encode(), None, "ä é".encode(), id="utf-8"),
        pytest.param("ä x".encode("latin-1"), None, "ä é".encode("latin-1"), id="latin-1"),
        pytest.param(codecs.BOM_UTF8 + b"x", None, codecs.BOM_UTF8 + "é".encode(), id="utf-8 with a mark"),
        pytest.param(
            codecs.BOM_UTF16_BE + "x".encode("utf-16-be"),
            None,
            codecs.BOM_UTF16_BE + "é".encode("utf-16-be"),
            id="utf-16 from the big end",
        ),
        pytest.param(
            codecs.BOM_UTF16_LE + "x".encode("utf-16-le"),
            "utf-16",
            codecs.BOM_UTF16_LE + "é".encode("utf-16-le"),
            id="utf-16 as said",
        ),
        pytest.param("я x".encode("cp1251"), "cp1251", None, id="said, and without the letter"),
        pytest.param("日 x".encode("shift_jis"), "shift_jis", None, id="of more than one byte"),
    ],
)
def test_encoding_is_kept(call, workspace: Path, raw: bytes, encoding: str | None, expected: bytes | None) -> None:
    """Byte-order marks and all that is not touched stay to the byte; what the encoding has not is an error."""
    (workspace / "f").write_bytes(raw)

    result = call("edit_file", path="f", old_string="x", new_string="é", encoding=encoding)

    assert result.reason == (None if expected else "not_encodable")
    assert (workspace / "f").read_bytes() == (expected or raw)


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [(b"x\0", None), (b"\xff\xfex", None), (b"x\xff", "utf-8"), (codecs.BOM_UTF16_LE + b"x\0\0\0", None)],
)
def test_what_is_no_text_is_not_edited(call, workspace: Path, raw: bytes, encoding: str | None) -> None:
    """NUL, and bytes that would not come back as they were."""
    (workspace / "f").write_bytes(raw)

    result = call("edit_file", path="f", old_string="x", new_string="y", encoding=encoding)

    assert (result.reason, (workspace / "f").read_bytes()) == ("binary_file", raw)
    assert result.message == ("'f' is not text in utf-8." if encoding else "'f' is not text.")


@pytest.mark.parametrize(
    ("limit", "new", "reason"),
    [(14, "2", None), (13, "2", "file_too_large"), (14, "2000", "file_too_large"), (15, "2000", None)],
)
def test_size_is_limited_before_and_after(call, limit: int, new: str, reason: str | None) -> None:
    """A file that is too large is not read, and none becomes too large."""
    result = call("edit_file", {"max_file_bytes": limit}, path="a.txt", old_string="two", new_string=new)

    assert result.reason == reason


def test_size_is_known_before_the_text_is_made(call, workspace: Path) -> None:
    """A long text in many places would take all memory: here 400 GB."""
    (workspace / "f").write_text("a" * 400_000)

    result = call("edit_file", path="f", old_string="a", new_string="b" * 1_000_000, replace_all=True)

    assert result.reason == "file_too_large"


def test_scope_and_guard_hold_for_edits(call) -> None:
    """What may not be written may not be edited."""
    reasons = [
        call("edit_file", {"writable": ["sub/**"]}, path=path, old_string="two", new_string="2").reason
        for path in ("a.txt", "out.txt", ".git/config", "sub/deep/c.py")
    ]

    assert reasons == ["outside_write_scope", "path_outside_workspace", "protected_path", None]


def test_dry_run_tells_the_error_and_changes_nothing(box, workspace: Path) -> None:
    """Before anybody is asked it is known whether the text is there."""
    toolbox = box("edit_file", {})

    said = [
        toolbox.decide("edit_file", {"path": "a.txt", "old_string": old, "new_string": "x"}).reason
        for old in ("two", "four", "e")
    ]

    assert said == [None, "text_not_found", "text_not_unique"]
    assert (workspace / "a.txt").read_text() == "one\ntwo\nthree\n"


TEXT = st.text(alphabet="ab\n\r é", max_size=40)


def naive(text: str, old: str) -> list[int]:
    """Where *old* stands, found letter by letter."""
    found, at = [], 0
    while at + len(old) <= len(text):
        if text[at : at + len(old)] == old:
            found.append(at)
            at += len(old)
        else:
            at += 1
    return found


@settings(max_examples=500, deadline=None)
@given(text=TEXT, old=st.text(alphabet="ab\n é", min_size=1, max_size=4))
def test_places_are_those_of_the_plainest_search(text: str, old: str) -> None:
    """Every place, from the left, without overlaps; and its line."""
    found = find_occurrences(text, old)

    assert found == naive(text, old)
    assert line_numbers(text, found) == [text[:offset].count("\n") + 1 for offset in found]


def patched(old: str, diff: str) -> str:
    """*old* as patch(1) leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_bytes(old.encode())
        subprocess.run(
            ["patch", "--quiet", "--binary", "--posix", str(file)],
            input=diff.encode(),
            cwd=folder,
            check=True,
            capture_output=True,
        )
        return file.read_bytes().decode() if file.exists() else ""


@pytest.mark.needs_program("patch")
@settings(max_examples=100, deadline=None)
@given(
    text=st.lists(st.sampled_from(["a", "b", "é", "", "ab"]), max_size=30).map("\n".join),
    old=st.text(alphabet="ab\n", min_size=1, max_size=3),
    new=st.text(alphabet="ab\n", max_size=3),
)
def test_diff_of_an_edit_makes_the_edit(text: str, old: str, new: str) -> None:
    """patch(1) makes the same of the old text as the tool."""
    expected = text.replace(old, new)

    diff = format_unified_diff("f", text, expected, edit_changes(text, old, new, find_occurrences(text, old)))

    assert (patched(text, diff) if diff else text) == expected


@pytest.mark.needs_program("patch")
@settings(max_examples=100, deadline=None)
@given(
    old=st.lists(st.sampled_from(["a", "b", ""]), max_size=12).map("\n".join),
    new=st.lists(st.sampled_from(["a", "b", ""]), max_size=12).map("\n".join),
)
def test_diff_of_a_write_makes_the_write(old: str, new: str) -> None:
    """The same for whole contents."""
    diff = format_unified_diff("f", old, new, whole_change(old, new))

    assert (patched(old, diff) if diff else old) == new


def test_hunks_are_apart_where_changes_are() -> None:
    """Changes that lie close share a hunk, others have their own, with the right numbers."""
    text = "".join(f"{number}\n" for number in range(30))

    diff = format_unified_diff("f", text, "", edit_changes(text, "5\n", "x\ny\n", find_occurrences(text, "5\n")))

    assert [line for line in diff.splitlines() if line.startswith("@@")] == [
        "@@ -3,7 +3,8 @@",
        "@@ -13,7 +14,8 @@",
        "@@ -23,7 +25,8 @@",
    ]
