"""What builders and package managers are given: tasks, targets, switches, packages, versions."""

import re
import shlex
from typing import Final

_TASK: Final = re.compile(r"[A-Za-z0-9_.:@%/#+-]*")
_PUBLISHING_TASK: Final = re.compile(
    r"(?:^|[^a-z])(?:deploy|undeploy|publish|unpublish|release|upload|destroy|push|rollback|teardown)(?![a-z])"
)
# Tasks that write to the system or to a home.
_INSTALLING_TASK: Final = re.compile(
    r"(?:^|[_-])(?:un)?install(?:dirs)?(?:$|[/:_-](?:strip|local|sw|all|am|exec|data|bin|lib|man|info|html|dvi|pdf|ps|headers?"
    r"|programs?|system|user|global|host|service|system-?wide)(?:$|[/:_-]))"
)
_MAKE_SWITCH: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=(?:\d+|true|false)")
_PRINTS_ENVIRONMENT: Final = frozenset({"env", "printenv", "environment"})
_CMAKE_SWITCH: Final = re.compile(r"\w*(?::(?:BOOL|STRING|UNINITIALIZED))?=[\w.+-]*", re.ASCII)
_REGISTRY_PACKAGE: Final = re.compile(
    r"(?:[\w.-]+@npm:)?"  # an alias of npm
    r"(?:@[\w.-]+/)?\w[\w.-]*(?:\[[\w., -]*\])?"  # a scope, a name, extras of pip
    r"(?:(?:@|===?|~=|!=|[<>]=?)[\w.*^~+<>=!, -]*)?"
)
_PYTHON_VERSION: Final = re.compile(r"=?(?:cpython|pypy|python|cp|pp|py)?@?-?[<>=~!]*\d[\d.]*[a-z0-9.,<>=+*-]*")


def task(text: str) -> str | None:
    """Names of the tasks that a project's own files define: scripts of npm, targets of make, tasks of gradle.

    None for one that stays with the project.

    By convention some of them hand something to others, or take it away, write to the system, or print settings; these have
    to be named. Source: GNU Coding Standards, "Standard Targets for Users"; CMake 4, "install" targets.
    """
    if _MAKE_SWITCH.fullmatch(text):
        return None  # A variable of make that can name no program.
    if not _TASK.fullmatch(text) or ".." in text.split("/") or text.startswith(("/", "-")):
        return "is no plain name of a task"
    if text in _PRINTS_ENVIRONMENT or text.rpartition(":")[2] == "properties":
        return "prints the environment, or settings that may hold what is secret"
    if _INSTALLING_TASK.search(text):
        return "writes beyond the project, by its name"
    return "reaches others than the project, by its name" if _PUBLISHING_TASK.search(text) else None


def task_shown(text: str) -> str | None:
    """Names of tasks that are only shown, as with `make -n`: one that would install may stand there.

    None for one that may be shown.
    """
    return None if _INSTALLING_TASK.search(text) and "=" not in text else task(text)


def cmake_switch(text: str) -> str | None:
    """What follows `-DENABLE_` and the like for cmake: switches, numbers and plain words; no path, which could be a program.

    None for a plain value.

    Source: CMake 4, cmake(1), "-D <var>:<type>=<value>".
    """
    return None if _CMAKE_SWITCH.fullmatch(text) else "may name a file or a program"


def go_ldflags(text: str) -> str | None:
    """Values of `go build -ldflags`: the linker's flags, one of which names the program that links.

    None if it strips symbols and sets values.

    Source: Go 1.27, `go tool link -help`.
    """
    try:
        words = iter(shlex.split(text.removeprefix("all=")))
    except ValueError:
        return "is not understood"
    for word in words:
        if word == "-X":
            next(words, None)
        elif word not in {"-s", "-w"} and not word.startswith("-X="):
            return "gives the linker a flag that is not known to be harmless"
    return None


def go_package(text: str) -> str | None:
    """Packages as the go command takes them: a pattern of the module, a path, or one that is fetched and run.

    None for a package in the folder's own module.

    Source: Go 1.27, `go help packages` and `go help run`.
    """
    is_own = text in {".", "./..."} or text.startswith("./") or (text.endswith(".go") and not text.startswith("/"))
    return None if is_own and ".." not in text.split("/") and "@" not in text else "may be fetched from elsewhere"


def target_triple(text: str) -> str | None:
    """Values of cargo's and rustc's `--target`: a triple, or a file that may name the program that links.

    None for a triple that the compiler knows.

    Source: rustc 1.95, "Custom Targets".
    """
    is_file = "/" in text or text.endswith(".json")
    return "is a file that may name the program that links" if is_file else None


def package(text: str) -> str | None:
    """What package managers install: a name from their registry, perhaps with a version; or from anywhere else.

    None for a package of the registry.

    Source: npm 11, `npm help package-spec`; pip 25, "Requirement Specifiers".
    """
    if re.fullmatch(r"\.(?:\[[\w, -]*\])?", text):
        return None  # The project itself.
    return None if _REGISTRY_PACKAGE.fullmatch(text) else "is no plain name of a package in the registry"


def pnpm_filter(text: str) -> str | None:
    """Values of pnpm's `--filter`: names and folders of the project's packages, or a commit, which git gets as a word.

    None if it names packages, or a commit that is no option.

    Source: pnpm 12.21, "Filtering".
    """
    return "may be an option of git, or lead outside" if "[-" in text or "../" in text else None


def python_version(text: str) -> str | None:
    """Values of uv's `--python` and of its kind: a version, which is looked up, or a program, which is started.

    None for a version.

    Source: uv 0.9, "Requesting a version".
    """
    return None if _PYTHON_VERSION.fullmatch(text) else "may be a program that is started"
