"""`lazy`: the one way to import a module later, for what few processes need or what is slow to import."""

from importlib import import_module
from types import ModuleType
from typing import Any


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
    return _LazyModule(module)
