"""The file tools of toolcharter: they read, write and lock beneath the workspace, and nowhere else.

They read and change files only through `rt.paths`. No result can contain anything protected or from outside the
workspace, and no tool can change such a file.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_files import (
    delete_file,
    edit_file,
    glob_files,
    grep,
    list_files,
    lock_paths,
    make_dir,
    move_file,
    read_file,
    unlock_paths,
    write_file,
)


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """Offer the file tools: four that read, five that write, two that lock."""
    reading = (glob_files, grep, list_files, read_file)
    writing = (write_file, edit_file, move_file, delete_file, make_dir)
    return [module.SPEC for module in (*reading, *writing, lock_paths, unlock_paths)]
