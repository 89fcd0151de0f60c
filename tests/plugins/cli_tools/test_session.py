"""The tools of this plugin on the command line and in the rest of a profile."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcharter import ConfigurationError, Discovery
from toolcharter.hookspecs import hookimpl
from toolcharter.loader.hooks import find_implementation, new_manager


def test_run_hands_over_new_tools(place: Any) -> None:
    """`toolcharter run` calls in its next line what `reload_tools` has found."""
    place.write(
        place.agent / "maker.sh",
        '#!/bin/sh\nmkdir -p tools/new && printf "#!/bin/sh\\necho made" > tools/new/run && chmod +x tools/new/run\n',
    )
    place.open(tools={"make": {"command": "./maker.sh", "capabilities": ["fs:write", "proc:exec"]}})
    calls = "".join(json.dumps({"tool": name}) + "\n" for name in ("make", "new", "reload_tools", "new"))
    command = [sys.executable, "-m", "toolcharter.cli", "run", "--profile", place.agent / "p.yaml"]

    done = subprocess.run(
        [*command, "--workspace", place.workspace, "--events", f"file:{place.agent / 'events'}"],
        input=calls, capture_output=True, text=True, check=True,
    )  # fmt: skip

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["reason"] for answer in answers] == [None, "unknown_tool", None, None]
    assert answers[-1]["text"] == "made\n"


def test_rules_name_discovered_tools(place: Any) -> None:
    """They are known names; what is not there has to be excepted, as other tools that come later."""
    place.tool("t")
    profile = {"allow": ["cli:t", "cli:later"], "limits": {"tools": {"t": {"timeout_s": 5}}}}

    with pytest.raises(ConfigurationError, match=r"nothing provides a tool named 'later'"):
        place.open(profile=profile)
    live = place.open(profile={**profile, "missing_ok": ["later"]})

    assert live.call("t", {}).outcome == "ok"
    assert live.current.built["t"].timeout_s == 5
    place.tool("later")
    live.reload()
    assert live.call("later", {}).outcome == "ok"


def test_digest_tells_code_from_code(place: Any) -> None:
    """A profile with other scripts permits other things."""
    script = place.tool("t")
    digests = {place.open().current.digest}
    script.write_text("#!/bin/sh\nexit 1\n")
    digests.add(place.open().current.digest)
    place.write(place.workspace / "tools/t/README.md", "Other words.", 0o644)
    digests.add(place.open().current.digest)

    assert len(digests) == 3


@pytest.mark.parametrize("name", ["both", "one", "none"])
def test_hook_takes_what_it_names(name: str) -> None:
    """An implementation of the hook takes its two arguments, or fewer, in any order."""

    class Plugin:
        pass

    def both(workspace: Path, profile: str) -> Any:
        return profile, workspace

    def one(workspace: Path) -> Any:
        return workspace

    def none() -> Any:
        return Discovery()

    functions: dict[str, Callable[..., Any]] = {"both": both, "one": one, "none": none}
    plugin: Any = Plugin()
    plugin.discover_tools = hookimpl(functions[name])
    manager = new_manager()
    manager.register(plugin)
    found = find_implementation(manager, "discover_tools", plugin)

    assert found is not None
    wanted = {"both": ("p", Path("w")), "one": Path("w"), "none": Discovery()}
    assert found("p", Path("w")) == wanted[name]
