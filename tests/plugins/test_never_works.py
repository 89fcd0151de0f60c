"""`profiles --check` tells what a policy grants in vain, because of where the profile has programs run."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from toolcharter.cli.group import toolcharter

PUSH = "git: {allowed_actions: [push], allow_push: true, allowed_remotes: [origin]"
KEPT = "`push` reaches no remote: 'bwrap' gives git no network; use `runner: host` to push."
CLOSED = "`network: true` opens nothing: 'bwrap' needs `network: true` under `extensions`, too."
OPENED = "extensions: {bwrap: {network: true}}"
NO_BROWSER = "no browser starts: Chromium cannot run in 'bwrap'; it needs `runner: host`."
ON_HOST = "nothing runs: code that an agent has written runs in a sandbox only, and `host` is none."


@pytest.mark.parametrize(
    ("tool", "runner", "more", "what"),
    [
        pytest.param(PUSH + "}", "bwrap", "", KEPT, id="push from a sandbox"),
        pytest.param(
            PUSH + "}", "bwrap", OPENED, KEPT, id="push from a sandbox with a network, which git does not ask for"
        ),
        pytest.param(PUSH + ", remote_urls: {origin: 'file:///srv/x'}}", "bwrap", "", None, id="push to a folder"),
        pytest.param(PUSH + "}", "host", "", None, id="push from this machine"),
        pytest.param(PUSH + "}", None, "", None, id="push without a runner, which is this machine"),
        pytest.param(
            "git: {allowed_actions: [push]}",
            None,
            "",
            "`push` never runs: `allow_push` is false.",
            id="push without leave",
        ),
        pytest.param(
            "git: {allowed_actions: [push], allow_push: true}",
            None,
            "",
            "`push` never runs: `allowed_remotes` lists no remote.",
            id="push to nowhere",
        ),
        pytest.param("git: {}", "bwrap", "", None, id="no push"),
        pytest.param("execute_code: {}", "host", "", ON_HOST, id="code on this machine"),
        pytest.param("execute_code: {}", "bwrap", "", None, id="code in a sandbox"),
        pytest.param("browser: {}", "bwrap", "", NO_BROWSER, id="a browser in a sandbox"),
        pytest.param("capture_screenshot: {}", "bwrap", OPENED, NO_BROWSER, id="a browser in a sandbox with a network"),
        pytest.param("browser: {}", "host", "", None, id="a browser on this machine"),
        pytest.param("bash: {network: true}", "bwrap", "", CLOSED, id="a network that the runner keeps"),
        pytest.param("background_process: {network: true}", "bwrap", "", CLOSED, id="the same of a process"),
        pytest.param("bash: {network: true}", "bwrap", OPENED, None, id="a network that both grant"),
    ],
)
def test_what_can_never_work_is_told(
    tool: str, runner: str | None, more: str, what: str | None, tmp_path: Path
) -> None:
    """In one warning at the tool's place; whatever works is not warned of."""
    file = tmp_path / "p.yaml"
    place = "" if runner is None else f"runner: {runner}\n"
    file.write_text(f"profile: p\ntools:\n  {tool}\nallow: ['bash:ls']\n{place}{more}\n")

    result = CliRunner().invoke(toolcharter, ["profiles", "--check", str(file), "--workspace", str(tmp_path)])

    said = [line for line in result.stderr.splitlines() if "bash:ls" not in line]
    name = tool.partition(":")[0]
    assert said == ([] if what is None else [f"Warning: {file}:3:3: tools.{name}: {what}"])
    assert result.exit_code == 0
