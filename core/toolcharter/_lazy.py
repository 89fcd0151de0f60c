"""`lazy`: the one way to import a module later, for what few processes need or what is slow to import."""

from importlib import import_module
from types import ModuleType
from typing import Any

REASONS = {
    "api": "a plugin's process may never validate a policy",
    "cli": "a command imports what it runs; `--help` and completion import none of it",
    "errors": "a name has to be misspelt before anything looks for one near it",
    "events": "few profiles write to a socket or follow a rotated file",
    "gate": "the first call pays for what it uses: asyncio, approvals and dry runs only where there are some",
    "guards": "a guard's heavy half (an HTTP client, Redis, a parser, supervision of processes) serves few profiles",
    "hosts": "few hosts request anything themselves",
    "loader": "what explains a fault in an installation is not needed where there is none",
    "policy": "what words a fault, and matchers of few rules",
    "profile": "schemas, other YAML readers and what words a fault",
    "testing": "pytest loads the plugin in every project that has it installed",
}
"""Why modules of each folder import some others late. A folder that is not here imports all it needs at its top."""

STAND_INS: "list[_LazyModule]" = []
"""Every stand-in of the process; `forget_names` lets each look its names up anew."""


class _LazyModule(ModuleType):
    """Stands for a module, which is imported when one of its names is first used.

    Each name is kept here once it was used, so that using it again costs no more than a name of any module. Use it for
    functions and classes: a variable that the module sets anew would be seen as it was.
    """

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        self.__dict__[name] = value
        return value


def lazy(module: str) -> Any:
    """A stand-in for *module*, a dotted name, that imports it on first use.

    Type checkers get the real module, from an import under `TYPE_CHECKING`.
    """
    stand_in = _LazyModule(module)
    STAND_INS.append(stand_in)
    return stand_in


def forget_names() -> None:
    """Let every stand-in look its names up anew. For tests, which replace names of modules."""
    for stand_in in STAND_INS:
        for name in [name for name in vars(stand_in) if not name.startswith("__")]:
            delattr(stand_in, name)
