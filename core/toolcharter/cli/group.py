"""The group of all commands. Each is a module of its own, imported when the user calls it; plugins add more.

Exit status: 0 ok; 1 a denial, a failed case or a tool error; 2 usage or configuration; 130 interrupted; 143 terminated.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from toolcharter._lazy import lazy
from toolcharter.cli.interrupts import Terminated

if TYPE_CHECKING:
    from toolcharter import errors
    from toolcharter.loader import commands as plugin_commands
    from toolcharter.loader import scan
else:
    errors = lazy("toolcharter.errors")
    plugin_commands = lazy("toolcharter.loader.commands")
    scan = lazy("toolcharter.loader.scan")

COMMANDS = {
    "call": "Make one governed call.",
    "run": "Make the calls on standard input, one JSON object a line.",
    "decide": "Decide the calls on standard input; run none of them.",
    "explain": "Explain how a call would be decided, stage by stage; run nothing.",
    "test": "Test profiles by their own cases.",
    "tools": "List the tools of a profile, or all that are installed.",
    "plugins": "List the installed plugins: versions, tools, capabilities, reasons.",
    "profiles": "List the profiles that can be named.",
    "approvals": "List the saved approvals, or forget some.",
    "reasons": "Explain the reasons for which calls are denied or fail.",
    "events": "Check, show, count and compare the events in files.",
    "schema": "Print the JSON Schema of a profile, for editors.",
    "doctor": "Prove that the gate governs every tool and that the sinks write.",
    "new": "Write the skeleton of a plugin for one tool.",
    "scrub": "Mask the secrets in standard input.",
}
"""Help text of each core command, in the order of the help. A plugin's command cannot replace any of them."""


_PART = "."
"""Separates the name of a command from the name of a subcommand that another plugin adds."""


class Group(click.Group):
    """Knows the commands' names and help, and imports only the command that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names: the core's in the order of the table, then those of plugins."""
        names = (name.partition(_PART)[0] for name in scan.find_installed().commands)
        return [*COMMANDS, *dict.fromkeys(name for name in names if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import *cmd_name*."""
        if cmd_name in COMMANDS:
            command: click.Command = import_module(f"toolcharter.cli.commands.{cmd_name}").command
            return command
        index = scan.find_installed()
        found = plugin_commands.load_command(cmd_name, index) if index.offers(scan.COMMANDS, cmd_name) else None
        parts = tuple(name for name in index.commands if name.startswith(f"{cmd_name}{_PART}"))
        return _CommandWithParts(cmd_name, found, parts) if parts else found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; if there is none, suggest the nearest name."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            index = scan.find_installed()
            known = self.list_commands(ctx)
            if not index.offers(scan.COMMANDS, args[0]) and args[0] not in known:
                ctx.fail(f"No such command {args[0]!r}. {errors.did_you_mean(args[0], known)}".rstrip())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """List the commands without importing them. For a plugin's command, show the summary of its distribution."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        index = scan.find_installed()
        added = {name.replace(_PART, " "): entry for name, entry in index.commands.items() if name not in COMMANDS}
        if added:
            with formatter.section("Commands of plugins"):
                formatter.write_dl([(name, scan.summary(entry) or entry.owner) for name, entry in added.items()])
        for clash in scan.command_clashes(index, COMMANDS):
            formatter.write(f"\n{clash}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Turn expected exceptions into an exit status, without a traceback."""
        try:
            return super().invoke(ctx)
        except Terminated as end:
            ctx.exit(end.status)
        except KeyboardInterrupt:
            ctx.exit(130)
        except Exception as error:
            if isinstance(error, PermissionError) and error.filename is not None:
                click.echo(f"{error.filename}: {error.strerror}", err=True)
                ctx.exit(2)
            if not isinstance(error, errors.ConfigurationError):
                raise
            click.echo("\n\n".join(map(str, error.faults)), err=True)
            ctx.exit(2)


class _CommandWithParts(click.Group):
    """A command with subcommands from other plugins: `mcp.wrap` is `toolcharter mcp wrap`. It also runs by itself."""

    def __init__(self, name: str, plain: click.Command | None, parts: tuple[str, ...]) -> None:
        shown = [part.replace(_PART, " ") for part in parts]
        super().__init__(name, help=f"Parts: {', '.join(shown)}.")
        self._own_command = plain
        self._parts = parts
        if plain is not None:
            plain.epilog = "\n\n".join(filter(None, [plain.epilog, f"More: {', '.join(shown)}."]))

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Make the command's own context, unless the first word names a subcommand."""
        if self._own_command is not None and not (args and f"{self.name}{_PART}{args[0]}" in self._parts):
            return self._own_command.make_context(info_name, args, parent, **extra)
        index = scan.find_installed()
        for part in self._parts:
            self.add_command(plugin_commands.load_command(part, index), part.partition(_PART)[2])
        return super().make_context(info_name, args, parent, **extra)


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    if wanted and not ctx.resilient_parsing:
        # Imported by name: no core module imports from the package root, and reading package metadata takes 20 ms.
        click.echo(f"toolcharter {import_module('toolcharter').__version__}")
        ctx.exit()


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
def toolcharter() -> None:
    """Tools for AI agents, each call through one gate.

    Exit status: 0 ok; 1 a denial, a failed case or a tool error; 2 usage or configuration.
    """


def stop(status: int) -> NoReturn:
    """End the running command with *status*."""
    click.get_current_context().exit(status)
