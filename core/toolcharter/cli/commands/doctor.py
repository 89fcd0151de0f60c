"""`toolcharter doctor`: proves that the gate governs every tool, and that the sinks write."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.group import stop
from toolcharter.cli.output import print_json, print_table

if TYPE_CHECKING:
    from toolcharter.api.call import Caller
    from toolcharter.cli import doctor
    from toolcharter.gate.build import inventory
else:
    doctor = lazy("toolcharter.cli.doctor")
    inventory = lazy("toolcharter.gate.build.inventory")


@click.command("doctor")
@options.profile
@options.json_output
@options.caller
@options.workspace_and_events
def command(
    profile: str,
    as_json: bool,
    caller: "Caller | None",
    workspace: str,
    events: Sequence[str],
) -> None:
    """Prove that the gate governs every tool, and that the sinks write.

    For each tool, it makes one call that must not pass, and checks all its events, and one call that
    must arrive: a dry run, or a call of a stand-in. Tools that only read files are called. Nothing is
    changed. Events go only to the sinks that --events names. Exit status 1 if a check failed.
    """
    findings = list(doctor.run_checks(profile, inventory.resolve_workspace(workspace), caller, events))
    failed = any(finding.result == "failed" for finding in findings)
    if as_json:
        print_json({"ok": not failed, "findings": [finding._asdict() for finding in findings]})
    else:
        print_table(("what", "test", "result", "detail"), findings, ("bold",))
    stop(1 if failed else 0)
