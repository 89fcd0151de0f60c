"""The commands that plugins add to `toolcharter`: listed from metadata, imported when the user calls one of them."""

from typing import TYPE_CHECKING

from toolcharter.errors import Fault, PluginError
from toolcharter.loader.hooks import describe_error, find_implementation, new_manager
from toolcharter.loader.module import load_module
from toolcharter.loader.scan import COMMANDS, InstalledPlugins
from toolcharter.loader.select import COMMAND, Need, select

if TYPE_CHECKING:
    import click

COMMAND_PLACE = "toolcharter"


def load_command(name: str, index: InstalledPlugins) -> "click.Command":
    """Import the plugin that adds the command *name*.

    Raises:
        PluginError: No distribution or several claim the command, or its distribution cannot be loaded.
    """
    need = Need(COMMANDS, name, COMMAND_PLACE, "", COMMAND)
    chosen, faults = select([need], index)
    if faults:
        raise PluginError(faults)
    entry, manager = chosen[need], new_manager()
    plugin = load_module(entry, index, manager)
    function = find_implementation(manager, "register_commands", plugin.module)
    try:
        commands = {} if function is None else {command.name: command for command in function()}
    except Exception as error:
        what = f"the hook register_commands raised {describe_error(error)}"
        fix = f"Report it to the authors of {entry.distribution}, or install another version."
        raise PluginError([Fault(entry.owner, "", what, fix)]) from error
    if name not in commands:
        what = f"the entry point {name!r} has no command behind it: {entry.module} registers none of that name."
        fix = "Mark register_commands with @hookimpl, and give the command the entry point's name, letter by letter."
        raise PluginError([Fault(entry.owner, "", what, fix)])
    command: click.Command = commands[name]
    return command
