"""Commands that print only names: of containers, of Kubernetes objects, of git's commits and branches, of Go packages.

A name is one word without blanks and without characters of a glob. Source: below.
"""

import re
from collections.abc import Sequence
from typing import Final

from toolcharter.guards.shell.nodes import GIT_REFERENCE, Command

_WORD: Final = r" [A-Za-z0-9_@%+=:,./{}~^-]+"
_REVISION: Final = r"[A-Za-z0-9_@][A-Za-z0-9_.@/~^-]*"
_COUNTED: Final = r"-[0-9]+|-n [0-9]+|--max-count=[0-9]+"
_HASHES: Final = r"--(?:format|pretty)=%[hH]"
_GO_LIST: Final = r"go list(?: (?:-deps|-test|\.|\./\.\.\.|\./[A-Za-z0-9_/-]+(?:/\.\.\.)?))*"
_AS_NAMES: Final = r"(?:-o |-o=|-o|--output |--output=)name"
_SELECTED: Final = (
    r"(?:-n|--namespace|-l|--selector|--field-selector)[ =][A-Za-z0-9_.=,!/-]+|-A|--all-namespaces|--ignore-not-found"
)
# No secrets, and no file, whose objects may be secrets: with their names, a later command could show them.
_OBJECTS: Final = r"(?!(?:[A-Za-z0-9.-]+,)*[Ss]ecrets?\b)[A-Za-z][A-Za-z0-9.,-]*"
_ONE_NAME: Final = r"(?:-o |-o=|-o|--output |--output=)jsonpath={\.items\[[0-9]+\]\.metadata\.name}"
_PRINTERS: Final = tuple(
    (re.compile(one), whose)
    for one, whose in (
        (rf"docker (?:ps|images|network ls)(?!.* --format)(?:{_WORD})* (?:-a?qf?|--quiet)(?:{_WORD})*", "docker"),
        (rf"docker ps(?:{_WORD})* --format {{{{\.(?:Names?|ID)}}}}", "docker"),
        (rf"kubectl get(?=.* {_AS_NAMES}(?: |\Z))(?: (?:{_AS_NAMES}|{_SELECTED}|{_OBJECTS}))+", "kubectl"),
        (rf"kubectl get(?: (?:{_SELECTED}|{_OBJECTS}))+ {_ONE_NAME}(?: (?:{_SELECTED}))*", "kubectl"),
        (r"git rev-parse(?: (?:--verify|--short(?:=[0-9]+)?))* (?:HEAD|@)(?:[~^][0-9]*)*", "git"),
        (rf"git merge-base {_REVISION} {_REVISION}", "git"),
        (rf"git rev-list(?: (?:--all|--reverse|--no-merges|{_COUNTED}|{_REVISION}))*", "git"),
        (
            rf"git log(?=.* {_HASHES}(?: |\Z))(?: (?:--all|--reverse|--no-merges|{_COUNTED}|{_HASHES}|{_REVISION}))*(?: --(?:{_WORD})+)?",
            "git",
        ),
        (r"gh (?:pr|issue|run) view(?: [0-9]+)? --json number (?:-q|--jq) \.number", "gh"),
        (r"git branch --show-current", GIT_REFERENCE),
        (r"git symbolic-ref --short HEAD", GIT_REFERENCE),
        (r"git rev-parse --abbrev-ref HEAD", GIT_REFERENCE),
        (r"git describe(?: (?:--tags|--always|--abbrev=[0-9]+|HEAD))*", GIT_REFERENCE),
        (r"git tag(?: (?:-l|--list|--sort=-?[a-z:]+))*", GIT_REFERENCE),
        (_GO_LIST, "go"),
    )
)
"""Commands that print only names, one per line, with the program that the names come from.

Names and ids of docker, `kind/name` of Kubernetes and hashes of git never begin with a dash. Branches and tags, which git may
get from a server, and the name of a module in `go.mod` may.
Source: docker-create(1), "--name"; Kubernetes, "Object Names and IDs"; git-check-ref-format(1).
"""


def printed_names_of(command: Command) -> str:
    """The program whose names *command* prints, one per line; empty if it may print anything else."""
    if command.assignments or not all(word.is_literal for word in command.words):
        return ""
    return names_printed_by([word.text or "" for word in command.words])


def names_printed_by(texts: Sequence[str]) -> str:
    """The program whose names the command of the words *texts* prints, as `printed_names_of`."""
    line = " ".join(texts)
    return next((whose for known, whose in _PRINTERS if known.fullmatch(line)), "")


def is_pipeline(commands: Sequence[Command], start: int) -> bool:
    """Whether *commands* are one pipeline of simple commands, the first of them at position *start*.

    An enclosing pipe may be the input of the first command; the caller has to make sure that the command does not read it.
    """
    outer = commands[0].stdin_from if commands else ()
    if any(one >= start for one in outer):
        return False
    inputs = ((*outer, *range(start, place)) for place in range(start, start + len(commands)))
    same = {(one.within, one.folders) for one in commands}
    return len(same) == 1 and all(
        one.stdin_from == fed and not one.substitutes for one, fed in zip(commands, inputs, strict=True)
    )
