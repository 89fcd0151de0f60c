"""Count the calls into the core's functions that governed calls make: `python -m toolcharter_golden.measure FOLDER`.

Prints, by name of what is measured, the functions that were entered, in their order. A generator or coroutine counts each
time it goes on.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import toolcharter
from toolcharter import build_tools
from toolcharter.events import lines as event_lines

CORE = str(Path(toolcharter.__file__).parent)
WARM = 5
TIMES = 5
"""Now and then a full cache costs a call more: the least of so many calls is printed."""
NOW_NS = 1_700_000_000_000_000_000
"""The time at which the clock of event lines stands still: each new millisecond would cost a call one function more."""


class EntryRecorder:
    """Notes each entry of a function of the core while it is on."""

    def __init__(self) -> None:
        self.entered: list[str] = []

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """See `sys.setprofile`."""
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(CORE):
            self.entered.append(f"{code.co_filename[len(CORE) + 1 :]}:{code.co_qualname}")

    @contextmanager
    def recording(self) -> Generator[None]:
        """Count what runs in here."""
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)


def warm_entries(act: Callable[[], object]) -> list[str]:
    """What *act* enters when it is warm."""
    for _ in range(WARM):
        act()
    return min((_entries_once(act) for _ in range(TIMES)), key=len)


def _entries_once(act: Callable[[], object]) -> list[str]:
    recorder = EntryRecorder()
    with recorder.recording():
        act()
    return recorder.entered


async def warm_entries_async(act: Callable[[], Any]) -> list[str]:
    """The same of what has to be awaited."""
    for _ in range(WARM):
        await act()
    found: list[list[str]] = []
    for _ in range(TIMES):
        recorder = EntryRecorder()
        with recorder.recording():
            await act()
        found.append(recorder.entered)
    return min(found, key=len)


def main(folder: Path) -> dict[str, list[str]]:
    """Measure all."""
    vars(event_lines)["time_ns"] = lambda: NOW_NS
    (folder / "ws").mkdir()
    for number in range(WARM + TIMES):
        (folder / f"ws/{number}.txt").write_text("x")
    events = f"file:{folder / 'events.jsonl'}"

    def profile(**settings: Any) -> Any:
        file = folder / f"profile-{len(list(folder.iterdir()))}.yaml"
        tools: dict[str, Any] = {"quick": {}, "aquick": {}, "command": {}}
        file.write_text(json.dumps({"profile": "measured", "tools": tools, **settings}))
        return build_tools(file, workspace=folder / "ws", events=events)

    rules = {
        "deny": ["quick(word=bad)", "aquick(word=bad)"]
    }  # They look at arguments: a decision is remembered by them.
    limits = {"limits": {"calls_per_hour": 100000}}
    hi, bad = {"word": "hi"}, {"word": "bad"}
    found: dict[str, list[str]] = {}
    with profile(**rules, **limits) as toolbox:
        found["sync"] = warm_entries(lambda: toolbox.call("quick", hi))
        found["async caller"] = asyncio.run(warm_entries_async(lambda: toolbox.acall("quick", hi)))
        found["async tool"] = asyncio.run(warm_entries_async(lambda: toolbox.acall("aquick", hi)))
        found["denied"] = warm_entries(lambda: toolbox.call("quick", bad))
    with profile(**rules, **limits, extensions={"watch": {"answers": {}}}) as toolbox:
        found["one check"] = warm_entries(lambda: toolbox.call("quick", hi))
    with profile(allow=["bash:cat *", "bash:wc *"]) as toolbox:
        # Another line each time, of the same form: no decision is remembered.
        lines = (f"cat {number}.txt | wc -l" for number in range(WARM + TIMES))
        found["judged command"] = warm_entries(lambda: toolbox.decide("command", {"line": next(lines)}))
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
