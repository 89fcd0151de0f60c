"""`lazy`: imports a module on first use. For modules that few processes need, or that are slow to import."""

from importlib import import_module
from types import ModuleType
from typing import Any

REASONS = {
    "api": "a plugin's process may never validate a policy",
    "cli": "a command imports the modules that it runs; `--help` and completion import none of them",
    "errors": "similar names are searched only after a name was misspelt",
    "events": "few profiles write to a socket or follow a rotated file",
    "gate": "the first call imports only what it uses: asyncio, approvals and dry runs only if it needs them",
    "guards": "a guard's heavy half (an HTTP client, Redis, a parser, supervision of processes) serves few profiles",
    "hosts": "few hosts send requests of their own",
    "loader": "modules that explain a fault of the installation are needed only for a fault",
    "policy": "modules that word a fault, and matchers that few rules need",
    "profile": "schemas, other YAML readers, and modules that word a fault",
    "testing": "pytest loads the plugin in every project that has it installed",
}
"""Why modules of each folder import some others late. A folder that is not listed imports all it needs at the top."""

STAND_INS: "list[_LazyModule]" = []
"""Every stand-in of the process; `forget_names` empties their caches of names."""


class _LazyModule(ModuleType):
    """A stand-in for a module, which is imported when one of its names is first used.

    The stand-in caches each name once it was used, so that the next use costs no more than with the module itself.
    Use it for functions and classes only: if the module reassigns a variable, the cache keeps the old value.
    """

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        self.__dict__[name] = value
        return value


def lazy(module: str) -> Any:
    """Return a stand-in for *module*, a dotted name, that imports it on first use.

    For type checkers, import the real module under `TYPE_CHECKING`.
    """
    stand_in = _LazyModule(module)
    STAND_INS.append(stand_in)
    return stand_in


def forget_names() -> None:
    """Empty the cache of every stand-in. For tests, which replace names of modules."""
    for stand_in in STAND_INS:
        for name in [name for name in vars(stand_in) if not name.startswith("__")]:
            delattr(stand_in, name)
