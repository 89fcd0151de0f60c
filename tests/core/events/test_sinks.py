"""Sinks: whole lines, losses told, nothing configured globally."""

import fcntl
import json
import os
import re
import resource
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import structlog
from tests.descriptors import open_descriptors
from tests.rows import each_row

from toolcharter.errors import ConfigurationError
from toolcharter.events import sinks as sinks_module
from toolcharter.events.emitter import Emitter
from toolcharter.events.sinks import (
    CHECK_INTERVAL_S,
    STALL_S,
    DescriptorSink,
    FileSink,
    FunctionSink,
    GroupSyncedFileSink,
    open_sink,
)

LINE = b'{"event":"hook.tool.before","level":"info","args":{"a":1}}\n'
WARNING = b'{"event":"hook.policy.deny","level":"warning","reason":"r"}\n'


def refuse(url: str) -> Any:
    raise AssertionError(f"no extension was wanted for {url}")


def test_a_file_takes_lines_at_its_end(tmp_path: Path) -> None:
    """What was there stays; the file is for its owner alone."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"{}\n")
    path.chmod(0o600)
    sink = open_sink(f"file:{path}", refuse)

    sink.write(LINE)
    sink.write(WARNING)
    sink.close()

    assert path.read_bytes() == b"{}\n" + LINE + WARNING


@pytest.mark.parametrize(
    "form", ["file:{}", "file://{}", "file://localhost{}", "file:{}?sync=each", "file:{}?sync=group"]
)
def test_the_forms_of_a_file_url(form: str, tmp_path: Path) -> None:
    """Plain paths and file URLs name the same file, created for its owner alone."""
    path = tmp_path / "my events.jsonl"
    sink = open_sink(form.format(str(path).replace(" ", "%20")), refuse)

    sink.write(LINE)
    sink.close()

    assert path.read_bytes() == LINE
    assert path.stat().st_mode & 0o777 == 0o600


@each_row(
    ("url", "message"),
    [
        ("file:", "events: the event sink is not understood: 'file:'\nKnown: stderr:, file:PATH, structlog:."),
        ("stderr:x", "events: the event sink is not understood: 'stderr:x'\nKnown: stderr:, file:PATH, structlog:."),
        (
            "file:x?sync=maybe",
            "events: the options 'sync=maybe' are not understood: 'file:x?sync=maybe'\nKnown: ?sync=group, ?sync=each.",
        ),
        (
            "file:x?mode=w",
            "events: the options 'mode=w' are not understood: 'file:x?mode=w'\nKnown: ?sync=group, ?sync=each.",
        ),
        (
            "file://host/x",
            "events: a file cannot lie on the host 'host': 'file://host/x'\nWrite file:PATH or file:///PATH.",
        ),
        (
            "file:/nonexistent/x",
            (
                "events: the file cannot be opened for appending: No such file or directory: 'file:/nonexistent/x'\n"
                "Make its folder first."
            ),
        ),
    ],
)
def test_a_url_that_names_no_sink(url: str, message: str) -> None:
    """A misspelt sink stops the start: a call must not run without its events."""
    with pytest.raises(ConfigurationError) as caught:
        open_sink(url, refuse)

    assert str(caught.value) == message


@pytest.mark.parametrize("given", [None, 7, b"stderr:"])
def test_what_is_neither_url_nor_function_nor_sink(given: Any) -> None:
    """`events=None` is no way to have no events."""
    with pytest.raises(ConfigurationError, match="the event sink is not understood") as caught:
        open_sink(given, refuse)

    assert repr(given) in str(caught.value)


def test_a_url_with_a_null_byte_names_no_sink() -> None:
    """Python words this refusal differently from version to version."""
    with pytest.raises(ConfigurationError, match=r"^events: the file cannot be opened for appending: .*null"):
        open_sink("file:a%00b", refuse)


def test_another_scheme_is_asked_of_the_extensions() -> None:
    """Core opens three schemes; the rest belongs to plugins."""
    asked: list[str] = []
    mine = FunctionSink(print)

    def extension(url: str) -> Any:
        asked.append(url)
        return mine

    assert open_sink("syslog:///dev/log", extension) is mine
    assert open_sink(mine, refuse) is mine
    assert asked == ["syslog:///dev/log"]


@pytest.mark.parametrize("url", ["stderr", "stderr:"])
def test_standard_error(url: str, capfd) -> None:
    """Lines go to descriptor 2, which stays open."""
    sink = open_sink(url, refuse)

    sink.write(LINE)
    sink.close()
    os.write(2, b"still open\n")

    assert capfd.readouterr().err == LINE.decode() + "still open\n"


def test_a_function_gets_a_dictionary_of_its_own_per_event() -> None:
    """What a function does to an event changes nobody else's."""
    seen: list[dict[str, Any]] = []
    sink = open_sink(seen.append, refuse)

    sink.write(LINE + WARNING)
    sink.close()

    assert seen == [json.loads(LINE), json.loads(WARNING)]


@pytest.mark.parametrize("url", ["structlog", "structlog:"])
def test_structlog_is_used_as_the_user_configured_it(url: str) -> None:
    """`capture_logs` sees each event at its level, with an argument mapping named args."""
    with structlog.testing.capture_logs() as logs:
        sink = open_sink(url, refuse)
        sink.write(LINE + WARNING)
        sink.close()

    assert logs == [
        {"event": "hook.tool.before", "args": {"a": 1}, "log_level": "info"},
        {"event": "hook.policy.deny", "reason": "r", "log_level": "warning"},
    ]


AFTER = b'{"event":"hook.tool.after","level":"info","args":{"a":1},"message":"m","tool":"t"}\n'


def test_structlog_through_logging_with_the_processor_that_the_docs_show(caplog) -> None:
    """`logging` keeps `args` and `message` for itself; renamed, they arrive."""
    page = (Path(__file__).parents[3] / "docs" / "events.md").read_text()
    (shown,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "for_logging" in block)
    try:
        exec(shown, {})
        emitter = Emitter([open_sink("structlog:", refuse)])

        with caplog.at_level("INFO"):
            taken = emitter.emit(AFTER)
    finally:
        structlog.reset_defaults()

    assert (taken, emitter.last_error) == (True, None)
    (record,) = caplog.records
    assert (record.name, record.levelname, record.message, record.tool, record.call_args, record.call_message) == (
        "toolcharter",
        "INFO",
        "hook.tool.after",
        "t",
        {"a": 1},
        "m",
    )


# Named pipes


def test_a_named_pipe_takes_lines(tmp_path: Path) -> None:
    """A reader that is there gets them; one that takes nothing is not waited for longer than elsewhere."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    sink = open_sink(f"file:{pipe}", refuse)

    sink.write(LINE)

    assert os.read(reader, 1000) == LINE
    sink.close()
    os.close(reader)


OPENING = """
import signal, sys
from toolcharter.errors import ConfigurationError
from toolcharter.events.sinks import open_sink
signal.alarm(20)
try:
    open_sink("file:" + sys.argv[1], None)
except ConfigurationError as error:
    print(error)
"""


def test_a_named_pipe_without_a_reader_is_refused(tmp_path: Path) -> None:
    """Who starts before its reader is told so, and does not wait for it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    done = subprocess.run([sys.executable, "-c", OPENING, str(pipe)], capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert done.stdout == (
        "events: the file cannot be opened for appending: No such device or address: "
        f"'file:{pipe}'\nA named pipe needs a reader before it is opened.\n"
    )


@pytest.mark.parametrize("sync", ["each", "group"])
def test_what_has_no_disk_cannot_be_synced(tmp_path: Path, sync: str) -> None:
    """Who asks for it is told at the start, not by every line that is lost later."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    before = open_descriptors()

    for place in (str(pipe), "/dev/null"):
        with pytest.raises(ConfigurationError) as caught:
            open_sink(f"file:{place}?sync={sync}", refuse)
        assert str(caught.value) == (
            "events: the file cannot be opened for appending: a pipe or a device has no disk that `sync` could wait for: "
            f"'file:{place}?sync={sync}'\nName a regular file, or leave out `?sync=`."
        )

    assert open_descriptors() == before
    os.close(reader)


def test_a_file_is_written_to_as_any_other(tmp_path: Path) -> None:
    """What keeps pipes from waiting does not stay on the descriptor of a file."""
    sink = FileSink(tmp_path / "events.jsonl")

    assert os.get_blocking(sink._descriptor)
    sink.close()


# Losses


def test_a_reader_that_has_gone_is_a_loss() -> None:
    """A closed pipe is counted, and the process lives on."""
    reader, writer = os.pipe()
    os.close(reader)
    emitter = Emitter([DescriptorSink(writer)])

    taken = emitter.emit(LINE)

    assert (taken, emitter.lost, type(emitter.last_error)) == (False, 1, BrokenPipeError)
    os.close(writer)


@pytest.mark.parametrize("blocking", [True, False], ids=["blocking", "non-blocking"])
def test_a_slow_reader_is_waited_for_only_so_long(blocking, monkeypatch) -> None:
    """A full pipe costs a bounded time; what does not fit is lost, and the next line is whole again."""
    monkeypatch.setattr(sinks_module, "STALL_S", 0.05)
    reader, writer = os.pipe()
    os.set_blocking(writer, blocking)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    sink = DescriptorSink(writer)
    emitter = Emitter([sink])
    big = b'{"x":"' + b"y" * 9000 + b'"}\n'

    assert emitter.emit(big) is False
    taken = os.read(reader, 65536)
    assert emitter.emit(LINE) is True
    taken += os.read(reader, 65536)

    torn, whole = taken.split(b"\n")[:-1]
    assert big.startswith(torn)
    assert whole + b"\n" == LINE
    assert (emitter.lost, str(emitter.last_error)) == (1, "the reader of the event stream took nothing for 0.05 s")
    os.close(reader)
    os.close(writer)


def test_a_full_disk_is_a_loss_and_a_torn_line_ends_there(tmp_path: Path) -> None:
    """A file that takes only a part tears one line at most; the next begins on a line of its own."""
    path = tmp_path / "events.jsonl"
    program = f"""
import resource, signal
from pathlib import Path
from toolcharter.events.emitter import Emitter
from toolcharter.events.sinks import FileSink
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
emitter = Emitter([FileSink(Path({str(path)!r}))])
print([emitter.emit(b'{{"n":%d,"x":"' % n + b'y' * 50 + b'"}}\\n') for n in range(3)], emitter.lost, emitter.last_error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(emitter.emit(b'{{"n":3}}\\n'))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[True, False, False] 2 [Errno 27] File too large\nTrue\n"
    lines = path.read_bytes().splitlines()
    assert json.loads(lines[0])["n"] == 0
    assert json.loads(lines[-1]) == {"n": 3}
    assert len(lines) == 3
    assert resource.RLIMIT_FSIZE  # the limit above is the child's alone


def test_a_line_that_another_process_has_torn_ends_there(tmp_path: Path) -> None:
    """Where a file is opened, and where another one takes its place: the next line begins on a line of its own, once."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"n":0}\n{"n":')
    sink = FileSink(path)
    sink.write(LINE)
    sink.write(LINE)
    path.rename(tmp_path / "events.jsonl.1")
    path.write_bytes(b'{"n":')
    time.sleep(2 * CHECK_INTERVAL_S)
    sink.write(LINE)
    sink.close()

    assert (tmp_path / "events.jsonl.1").read_bytes() == b'{"n":0}\n{"n":\n' + LINE + LINE
    assert path.read_bytes() == b'{"n":\n' + LINE


def test_a_line_that_another_process_is_writing_is_not_taken_for_torn(tmp_path: Path, monkeypatch) -> None:
    """The kernel shows a long write page by page: a file that still changes is looked at again."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"n":')
    rest = iter([b"0", b"}\n"])

    def a_page_comes(_seconds: float) -> None:
        with path.open("ab") as file:
            file.write(next(rest))

    monkeypatch.setattr("toolcharter.events.sinks.sleep", a_page_comes)
    sink = FileSink(path)
    sink.write(LINE)
    sink.close()

    assert path.read_bytes() == b'{"n":0}\n' + LINE


def test_a_line_that_never_ends_is_not_waited_for(tmp_path: Path, monkeypatch) -> None:
    """What goes on growing without the end of a line counts as torn after `STALL_S`."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"{")
    looks = 0

    def another_grows(_seconds: float) -> None:
        nonlocal looks
        looks += 1
        assert looks < 100_000
        with path.open("ab") as file:
            file.write(b"x")

    monkeypatch.setattr("toolcharter.events.sinks.sleep", another_grows)
    moments = count(step=STALL_S / 10)  # A tenth of it passes between two looks, however busy the machine is.
    monkeypatch.setattr("toolcharter.events.sinks.monotonic", lambda: next(moments))
    sink = FileSink(path)
    sink.write(LINE)
    sink.close()

    assert path.read_bytes().endswith(b"x\n" + LINE)


def test_a_write_that_takes_a_part_is_completed(tmp_path: Path, monkeypatch) -> None:
    """A short write is no loss as long as the rest fits."""
    path = tmp_path / "events.jsonl"
    sink = FileSink(path)
    real = os.write
    sizes = iter([10, 20, 1000])
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[: next(sizes)]))

    sink.write(LINE)
    sink.close()

    assert path.read_bytes() == LINE


def test_a_descriptor_that_is_closed_is_a_loss() -> None:
    """A process without standard error loses its events and nothing else."""
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    emitter = Emitter([DescriptorSink(writer)])

    assert emitter.emit(LINE) is False
    assert (emitter.lost, type(emitter.last_error)) == (1, OSError)


@pytest.mark.parametrize("sync", ["none", "group", "each"])
@pytest.mark.parametrize("gone", ["renamed", "removed", "replaced"])
def test_after_a_rotation_the_next_line_goes_into_a_new_file(gone, sync, tmp_path: Path, monkeypatch) -> None:
    """Log rotation renames or removes the file; nothing tells the process, and nothing is lost."""
    monkeypatch.setattr(sinks_module, "CHECK_INTERVAL_S", 0.0)
    path, old = tmp_path / "events.jsonl", tmp_path / "events.jsonl.1"
    sink = open_sink(f"file:{path}?sync={sync}", refuse)
    sink.write(LINE)

    os.link(path, old) if gone == "removed" else path.rename(old)
    if gone == "removed":
        path.unlink()
    if gone == "replaced":
        path.write_bytes(b"{}\n")
    sink.write(WARNING)
    sink.write(LINE)
    sink.close()

    assert old.read_bytes() == LINE
    assert path.read_bytes() == (b"{}\n" if gone == "replaced" else b"") + WARNING + LINE
    assert gone == "replaced" or path.stat().st_mode & 0o777 == 0o600


def test_a_rotation_is_followed_wherever_the_process_goes(tmp_path: Path, monkeypatch) -> None:
    """A relative path means the folder in which the sink was opened."""
    monkeypatch.setattr(sinks_module, "CHECK_INTERVAL_S", 0.0)
    monkeypatch.chdir(tmp_path)
    sink = open_sink("file:events.jsonl", refuse)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "events.jsonl").unlink()

    sink.write(LINE)

    assert (tmp_path / "events.jsonl").read_bytes() == LINE
    assert list(Path().iterdir()) == []
    sink.close()


@pytest.mark.parametrize("obstacle", ["folder", "pipe", "no folder"])
def test_a_file_that_cannot_be_opened_again_is_a_loss(obstacle, tmp_path: Path, monkeypatch) -> None:
    """What stands in the file's place after a rotation, and is no file, takes no line; a file does again."""
    monkeypatch.setattr(sinks_module, "CHECK_INTERVAL_S", 0.0)
    path = tmp_path / "logs/events.jsonl"
    path.parent.mkdir()
    emitter = Emitter([open_sink(f"file:{path}", refuse)])
    path.unlink()
    if obstacle == "no folder":
        path.parent.rmdir()
    else:
        path.mkdir() if obstacle == "folder" else os.mkfifo(path)

    assert not emitter.emit(LINE)

    if obstacle == "no folder":
        path.parent.mkdir()
    else:
        path.rmdir() if obstacle == "folder" else path.unlink()
    assert emitter.emit(WARNING)
    emitter.close()
    assert (path.read_bytes(), emitter.lost) == (WARNING, 1)


def test_a_process_that_may_no_longer_look_writes_on(tmp_path: Path, monkeypatch) -> None:
    """Who opens the file and then gives up rights keeps the file that it has open."""
    monkeypatch.setattr(sinks_module, "CHECK_INTERVAL_S", 0.0)
    sink = FileSink(tmp_path / "events.jsonl")

    def forbidden(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", forbidden)
        sink.write(LINE)

    assert (tmp_path / "events.jsonl").read_bytes() == LINE
    sink.close()


def test_threads_that_write_during_rotations_lose_and_tear_no_line(tmp_path: Path, monkeypatch) -> None:
    """Every line is whole, in one file or the other."""
    monkeypatch.setattr(sinks_module, "CHECK_INTERVAL_S", 0.0)
    path = tmp_path / "events.jsonl"
    sink = FileSink(path)

    def write_often() -> None:
        for _ in range(200):
            sink.write(LINE)

    threads = [threading.Thread(target=write_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    number = 0
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            path.rename(tmp_path / f"old-{number}")
            number += 1
    sink.close()

    lines = [line for file in tmp_path.iterdir() for line in file.read_bytes().splitlines(keepends=True)]
    assert (len(lines), set(lines)) == (800, {LINE})


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_file_synced_in_groups_holds_every_line(count: int, tmp_path: Path) -> None:
    """Closing flushes what is left, and ends the thread that flushes."""
    sink = GroupSyncedFileSink(tmp_path / "events.jsonl")

    for _ in range(count):
        sink.write(LINE)
    sink.close()

    assert sink.path.read_bytes() == LINE * count
    assert (sink._flusher is None) == (count == 0)
    assert sink._flusher is None or not sink._flusher.is_alive()


def test_a_closed_file_is_never_written_to_again(tmp_path: Path) -> None:
    """A late line must not land in whatever file got the descriptor next."""
    sink = FileSink(tmp_path / "events.jsonl")
    sink.close()
    other = os.open(tmp_path / "other", os.O_CREAT | os.O_RDWR)

    emitter = Emitter([sink])
    taken = emitter.emit(LINE)

    assert (taken, os.read(other, 10)) == (False, b"")
    os.close(other)


def test_a_failing_flush_is_told_by_the_next_line(tmp_path: Path, monkeypatch) -> None:
    """With `sync=group` a disk error comes up as soon as it is known."""
    told = threading.Event()

    def fail(descriptor: int) -> None:
        told.set()
        raise OSError(5, "Input/output error")

    sink = GroupSyncedFileSink(tmp_path / "events.jsonl")
    monkeypatch.setattr(os, "fdatasync", fail)
    emitter = Emitter([sink])

    first = emitter.emit(LINE)
    told.wait()
    while sink._failed is None:
        told.wait(0.001)  # the flusher is about to set it
    second = emitter.emit(LINE)
    emitter.close()

    assert (first, second) == (True, False)
    assert emitter.lost == 2  # the line, and the flush on closing


def test_one_sink_that_fails_does_not_keep_the_others_from_their_lines() -> None:
    """Each sink stands for itself, and any exception of a user's sink is a loss."""
    seen: list[dict[str, Any]] = []

    def fail(event: dict[str, Any]) -> None:
        raise ValueError("my bug")

    emitter = Emitter([FunctionSink(fail), FunctionSink(seen.append)])

    taken = emitter.emit(LINE + WARNING)

    assert (taken, len(seen), emitter.lost, str(emitter.last_error)) == (False, 2, 2, "my bug")


WRITER = """
import sys, threading
from pathlib import Path
from toolcharter.events.sinks import FileSink
sink = FileSink(Path(sys.argv[1]))
def work(name):
    for n in range(200):
        sink.write(b'{"who":"%s","n":%d,"x":"' % (name.encode(), n) + b"y" * (n * 30) + b'"}\\n')
threads = [threading.Thread(target=work, args=(f"{sys.argv[2]}-{t}",)) for t in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def test_four_processes_with_four_threads_each_tear_no_line(tmp_path: Path) -> None:
    """One `O_APPEND` write per half: whole lines of up to 6 KB from everybody."""
    path = tmp_path / "events.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(n)]) for n in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4

    # An empty line stands behind a process that the machine left in the middle of a write for longer than `TORN_S`.
    lines = [json.loads(line) for line in path.read_text().splitlines() if line]

    assert len(lines) == 3200
    assert len({(line["who"], line["n"]) for line in lines}) == 3200
