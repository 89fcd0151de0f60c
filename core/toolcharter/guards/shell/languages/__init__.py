"""The languages of arguments: for each role `format:NAME` of a program's table, a function NAME that checks the text.

The function returns None if the text certainly does no more than read its input and print; otherwise the reason why a rule has
to mention it. It objects to text that it cannot parse.
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
"""The module of this folder for each language. It is imported when a command first holds a text in that language."""


def find_objection(name: str, text: str) -> str | None:
    """Why a rule has to mention *text*, in the language *name*; None if it is harmless.

    Raises:
        KeyError: There is no such language.
    """
    module = import_module(f"{__name__}.{MODULES[name]}")
    found: str | None = getattr(module, name)(text)
    return found
