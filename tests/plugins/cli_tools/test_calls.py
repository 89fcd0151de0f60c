"""What a call of a tool does: arguments, help, results, and that what runs is what was found."""

import fcntl
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from toolcharter import ToolError
from toolcharter_cli_tools import copies
from toolcharter_cli_tools.bundles import Bundle, BundleFile


def test_arguments_are_words(place: Any) -> None:
    """What a call gives is never read by a shell."""
    place.tool("t", '#!/bin/sh\nprintf "[%s]" "$@"\ncat\n')

    result = place.open().call("t", {"args": ["a b", "$(id)", "*", "; ls"], "stdin": "in"})

    assert result.text == "[a b][$(id)][*][; ls]in"


def test_dashes_need_an_opt_in(place: Any) -> None:
    """A word that a program may take for an option is denied before anything runs."""
    place.tool("t", '#!/bin/sh\nprintf "%s" "$1"\n')
    live = place.open()
    free = place.open(allow_dash=True)

    result = live.call("t", {"args": ["-x"]})

    assert (result.outcome, result.reason) == ("denied", "leading_dash_not_allowed")
    assert live.current.decide("t", {"args": ["-x"]}).reason == "leading_dash_not_allowed"
    assert free.call("t", {"args": ["-x"]}).text == "-x"


def test_help_runs_nothing(place: Any) -> None:
    """The README is answered on demand; the list of tools shows its beginning."""
    place.tool("t", "#!/bin/sh\ntouch ran\n", "# T\n\nDoes\nthings.\n\n## More\n\nLong.\n")
    live = place.open()

    result = live.call("t", {"help": True})

    assert (result.outcome, result.text) == ("ok", "# T\n\nDoes\nthings.\n\n## More\n\nLong.")
    assert live.current["t"].description == "T: Does things.\n\nCall it with `help: true` to read more."
    assert not (place.workspace / "ran").exists()


def test_changed_script_is_refused_until_it_is_loaded_again(place: Any) -> None:
    """What was allowed were those very bytes; afterwards a person is asked, also where a rule allows it."""
    script = place.tool("t", "#!/bin/sh\nprintf one\n")
    asked: list[str] = []

    def approve(request: Any) -> str:
        asked.append(request.tool)
        return "allow_once"

    live = place.open(approver=approve)
    before = live.current.digest
    assert live.call("t", {}).text == "one"
    script.write_text("#!/bin/sh\nprintf two\n")

    refused = live.call("t", {})
    found = live.reload()
    again = live.call("t", {})

    assert (refused.outcome, refused.reason) == ("denied", "precondition_failed")
    assert (found.changed, again.text, asked) == (("t",), "two", ["t"])
    assert live.current.digest != before
    script.write_text("#!/bin/sh\nprintf one\n")
    assert (live.reload().changed, live.call("t", {}).text, asked) == ((), "one", ["t"])


def test_approval_that_was_kept_is_of_the_code(place: Any) -> None:
    """`allow_always` holds as long as the script is the same, also in another session."""
    script = place.tool("t", "#!/bin/sh\nprintf one\n")
    asked = []
    profile = {"mode": "ask", "allow": [], "approvals": {"always": True}}

    def ask(request: Any) -> str:
        asked.append(request.tool)
        return "allow_always"

    def run() -> str | None:
        return str(place.open(profile=profile, approver=ask).call("t", {}).text)

    assert ([run(), run()], asked) == (["one", "one"], ["t"])
    script.write_text("#!/bin/sh\nprintf two\n")
    assert (run(), asked) == ("two", ["t", "t"])


def test_the_whole_folder_is_the_tool(place: Any) -> None:
    """A file beside the script is run with it, and counts as its code; what editors leave does not."""
    place.tool("t", '#!/bin/sh\n. "$(dirname "$0")/lib/part.sh"\n')
    part = place.write(place.workspace / "tools/t/lib/part.sh", "printf part\n", 0o644)
    live = place.open()
    place.write(place.workspace / "tools/t/lib/part.sh~", "backup")
    assert live.call("t", {}).text == "part"

    part.write_text("printf other\n")

    assert live.call("t", {}).reason == "precondition_failed"


def test_nothing_is_left_of_a_run(place: Any) -> None:
    """The copy goes with the run, whatever the run has done."""
    place.tool("t", "#!/bin/sh\nexit 3\n")

    result = place.open().call("t", {})

    assert (result.outcome, result.reason, result.exit_code) == ("error", "nonzero_exit", 3)
    assert list((place.workspace / ".toolcharter").iterdir()) == []


def test_time_limit(place: Any) -> None:
    """A tool over its time is ended."""
    place.tool("t", "#!/bin/sh\nprintf begun\nexec sleep 30\n")

    result = place.open(timeout_s=0.5).call("t", {})

    assert (result.reason, "begun" in result.text) == ("timed_out", True)


def test_output_limit(place: Any) -> None:
    """Output that is cut says so."""
    place.tool("t", "#!/bin/sh\nprintf 1234567890\n")

    result = place.open(max_output_bytes=4).call("t", {})

    assert (result.text, result.truncated) == ("1234\n[output truncated]", True)


@pytest.mark.parametrize(
    ("script", "data"),
    [
        pytest.param('echo "{\\"a\\": 1}"', {"a": 1}, id="json"),
        pytest.param('printf "log\\n[1]\\n"', [1], id="last-line"),
        pytest.param('echo "{\\"a\\": 1}"; echo note >&2', {"a": 1}, id="beside-errors"),
        pytest.param("echo text", {"output": "text\n"}, id="text"),
        pytest.param("echo text; echo note >&2", {"output": "text\n\n--- stderr ---\nnote\n"}, id="both-texts"),
        pytest.param("true", {"output": "Command completed with exit code 0"}, id="nothing"),
    ],
)
def test_data(place: Any, script: str, data: Any) -> None:
    """Output that is JSON is data."""
    place.tool("t", f"#!/bin/sh\n{script}\n")

    assert place.open().call("t", {}).data == data


def test_programs_that_are_no_scripts(place: Any) -> None:
    """A binary runs as a script does, and a script without a first line as the shell would run it."""
    program = place.tool("t")
    program.write_bytes(Path("/bin/echo").read_bytes())
    place.tool("u", "printf plain\n")
    live = place.open()

    assert (live.call("t", {"args": ["x"]}).text, live.call("u", {}).text) == ("x\n", "plain")


def test_calls_at_the_same_time(place: Any) -> None:
    """Each call has a copy of its own."""
    place.tool("t", '#!/bin/sh\nsleep 0.05\nprintf "%s" "$1"\n')
    live, texts = place.open(), dict[str, str]()

    def call(word: str) -> None:
        texts[word] = live.call("t", {"args": [word]}).text

    threads = [threading.Thread(target=call, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert texts == {str(number): str(number) for number in range(8)}


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_rights_in_a_sandbox(place: Any) -> None:
    """The copy cannot be written to, nor the workspace without `fs:write`, and there is no network."""
    script = (
        "#!/bin/sh\n(echo >> \"$0\") 2>/dev/null || printf 'copy,'\n(echo > .toolcharter/x) 2>/dev/null || printf 'home,'\n"
        "(echo > file) 2>/dev/null || printf 'workspace,'\ncat /proc/net/dev | grep -c : \n"
    )
    place.tool("t", script)
    place.write(place.agent / "t.sh", script)
    live = place.open(
        profile={
            "runner": "bwrap",
            "extensions": {
                "cli_tools": {
                    "extend": True,
                    "workspace_folders": ["tools"],
                    "tools": {"w": {"command": "./t.sh", "capabilities": ["fs:write", "proc:exec"]}},
                }
            },
        },
    )

    assert (live.call("t", {}).text, live.call("w", {}).text) == ("copy,home,workspace,1\n", "copy,home,1\n")


def test_copy_where_a_link_stands(place: Any, tmp_path: Path) -> None:
    """Nothing is written through a link that a repository brings."""
    place.tool("t")
    (tmp_path / "elsewhere").mkdir()
    (place.workspace / ".toolcharter").symlink_to(tmp_path / "elsewhere")

    result = place.open().call("t", {})

    assert (result.outcome, result.reason) == ("error", "tool_error")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_placeholder_of_a_runner_is_taken_over(tmp_path: Path) -> None:
    """A folder that a runner has put there would hide the copy; it becomes a plain one."""
    home = tmp_path / ".toolcharter"
    home.mkdir()
    home.chmod(0o1755)

    with copies.copy_bundle(Bundle({"a/run": BundleFile(b"x", is_executable=True)}), tmp_path) as path:
        assert stat.S_IMODE((tmp_path / path / "a/run").stat().st_mode) == 0o555
        assert not home.stat().st_mode & stat.S_ISVTX


def test_folder_that_somebody_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who holds it alone is about to remove it: he is waited for, but not for ever."""
    monkeypatch.setattr(copies, "_TIMEOUT_S", 0.01)
    (tmp_path / ".toolcharter").mkdir()
    descriptor = os.open(tmp_path / ".toolcharter", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    with pytest.raises(ToolError, match="is in use"), copies.copy_bundle(Bundle({}), tmp_path):
        pass
    os.close(descriptor)


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be copied is not run, and nothing is left."""

    def write(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copies, "_write_file", write)

    with (
        pytest.raises(ToolError, match="No space left on device"),
        copies.copy_bundle(Bundle({"run": BundleFile(b"", is_executable=True)}), tmp_path),
    ):
        pass
    assert list((tmp_path / ".toolcharter").iterdir()) == []


@pytest.mark.parametrize("answer", ["allow_once", "allow_always"])
def test_answer_to_a_question_is_for_the_code_that_was_shown(place: Any, answer: str) -> None:
    """The tools are loaded again while a person looks at the question: other code never runs by that answer."""
    script = place.tool("t", "#!/bin/sh\nprintf one\n")
    asked: list[str] = []

    def approve(request: Any) -> str:
        asked.append(request.tool)
        script.write_text("#!/bin/sh\nprintf two\n")
        reloading = threading.Thread(target=live.reload)
        reloading.start()
        reloading.join(60)
        return answer if len(asked) == 1 else "deny"

    live = place.open(profile={"mode": "ask", "allow": [], "approvals": {"always": True}}, approver=approve)

    first, second = live.call("t", {}), live.call("t", {})

    assert (first.outcome, first.reason) == ("denied", "precondition_failed")
    assert "two" not in first.text
    assert second.outcome == "denied"
    assert asked == ["t", "t"]
