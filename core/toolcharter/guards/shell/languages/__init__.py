"""Little languages that programs take as arguments: for `format:NAME` of a program's table a function of that name.

The function gets the text, and returns None if the text is proven to do no more than read its input and print; otherwise
why a rule has to mention it. What it cannot read, it objects to.
"""

from importlib import import_module
from typing import Final

_NAMES: Final = {
    "awk": ("awk",),
    "builds": (
        "cmake_switch",
        "go_ldflags",
        "go_package",
        "package",
        "pnpm_filter",
        "python_version",
        "target_triple",
        "task",
        "task_shown",
    ),
    "formats": ("curl_text", "date", "file_mode", "kube_output", "manual_page", "printf"),
    "git": ("git_count", "git_key", "git_pretty", "git_range", "git_reflog", "git_since"),
    "jq": ("jq", "yq"),
    "sed": ("sed",),
    "services": (
        "ansible_value",
        "aws_value",
        "gh_endpoint",
        "gh_repository",
        "kube_resource",
        "local_url",
    ),
    "sql": ("database", "psql", "sql", "sqlite"),
    "testing": ("js_tests", "named_tests", "pytest_plugin", "python_warning", "unittest_name"),
}
MODULES: Final = {name: module for module, names in _NAMES.items() for name in names}
"""By language, the module of this folder that reads it. It is imported when a command first holds such a text."""


def objection(name: str, text: str) -> str | None:
    """Why a rule has to mention *text*, of the language *name*; None if it is harmless.

    Raises:
        KeyError: There is no such language.
    """
    module = import_module(f"{__name__}.{MODULES[name]}")
    found: str | None = getattr(module, name)(text)
    return found
