"""An analysed command: what a rule must mention to cover it, and what must hold on disk for its text to be reliable.

The shell guard makes these values; policy and the gate read them. Values only.
"""

from typing import Final, NamedTuple

MAY: Final = "may"
"""A `PathAccess.change`: the command's table does not say whether the path is changed or only read, as for `sed -i`."""


class Requirement(NamedTuple):
    """A word of a command that an allow rule must mention to cover the command."""

    form: str
    """The word as in the normal form."""
    why: str
    """The reason, for people: `'-delete' deletes`, `'/etc/passwd' lies outside the workspace`."""
    times: int = 1
    """How often the word occurs in the command. A rule must write it as often: `git *` mentions no branch `git`."""


class PathAccess(NamedTuple):
    """A path that a command may access. Its text lies in the workspace; the gate checks whether links lead out."""

    path: str
    """The path as the program gets it, or a glob over such paths."""
    is_pattern: bool = False
    folders: tuple[str, ...] = (".",)
    """The folders, relative to the workspace, that the path may be relative to."""
    change: str = ""
    """Empty if the path is only read. Else the role of its word, such as `into` for a folder in which files are made,
    or `MAY`."""
    copied_into: "PathAccess | None" = None
    """The folder in which the command makes a copy of the path or a link to it."""
    copies_content: bool = False
    """Whether the copies are those of the folder's entries, not of the folder itself."""


class ListedNames(NamedTuple):
    """Names on disk that one program prints and another program reads as its words."""

    path: str
    """The folder that the names lie in or below, or a glob that they match, as the printing program gets it."""
    folders: tuple[str, ...] = (".",)
    """The folders, relative to the workspace, that the path may be relative to."""
    kind: str = "below"
    """How the names relate to the path. `below`: entries at any depth; `in`: direct entries; `matches`: names that
    match; `files`: names that match, none of which is a folder; `index`: files that git tracks there; `folder`: a
    folder that can be entered; `unlinked`: names that match, none of which is a link or contains one."""
    is_bare: bool = False
    """Whether the names are printed without the path before them, so that a name could be read as an option."""
    is_split: bool = True
    """Whether a blank, a newline, a quote or a backslash in a name would turn it into other words."""
    name: str = ""
    """For `below`: a glob that the names match, unlike the folders on the way to them. Empty for any name."""
    is_globbed: bool = False
    """Whether a shell expands the names, so that a glob character in a name would turn it into other names."""


class AnalysedCommand(NamedTuple):
    """One command that a call would run."""

    form: str
    """Its normal form, which rules see."""
    needs: tuple[Requirement, ...] = ()
    """The words that an allow rule must mention, in addition to matching."""
    reaches: tuple[PathAccess, ...] = ()
    """Paths that must really lie in the workspace, not only by their text."""
    program: str = ""
    """The program as written; empty if there are only assignments and redirections."""
    folders: tuple[str, ...] = (".",)
    """The folders it may run in, relative to the workspace; empty if they cannot be determined."""
    is_known: bool = True
    """Whether there is a table of its program."""
    bare: str | None = None
    """For a command with assignments before the program, all harmless: the normal form without them. For `[[ ... ]]`:
    the normal form that `test` would have. Otherwise None."""
    is_transparent: bool = False
    """Whether it needs no allow rule in addition to those for the commands that it starts."""
    within: tuple[str, ...] = ()
    """The constructs and commands that contain it, outermost first."""
    deny_forms: tuple[str, ...] = ()
    """Other spellings of the command that deny rules also match: without assignments and redirections; the program
    without its path; the subcommand without the options before it; `[` and `[[` as `test`. The first command of a line
    also has the commands that the floor has found in texts and files of the line."""
    listings: tuple[ListedNames, ...] = ()
    """Names that it reads from another command's output."""
    marks: tuple[str, ...] = ()
    """Beginnings that no name that a glob expands to may have, because the program treats such a word specially, for
    example `@x` as a file of options."""
    module: str = ""
    """The module that it makes Python import, such as `json.tool`. No file in the folder in which it runs may be
    imported instead. Empty for none."""
    starters: tuple["Starter", ...] = ()
    """The commands that start it, innermost first. A rule for one of them covers it, too, if it mentions enough."""


class Starter(NamedTuple):
    """A command that starts another command; a rule for it may cover the started command."""

    form: str
    """Its normal form, which rules see."""
    needs: tuple[Requirement, ...]
    """The words that a rule must mention: the started program, and the needs of both commands."""
    bare: str | None = None
    """See `AnalysedCommand.bare`."""


class DiskPreconditions(NamedTuple):
    """What must hold on disk, so that the commands of a call do what their text says."""

    places: tuple[PathAccess, ...] = ()
    """Paths that must lie in the workspace."""
    programs: tuple[str, ...] = ()
    """Names of programs that must not lead into the workspace."""
    repositories: tuple[str, ...] = ()
    """Folders, relative to the workspace, in which git would run."""
    links_repositories: bool = False
    """Whether git would add files, and then start itself in every repository among them."""
    names: tuple[ListedNames, ...] = ()
    """Names that must reach the reading program unchanged."""
    blames: bool = False
    """Whether git would read the list of commits to ignore that the repository's settings name."""
    marks: tuple[str, ...] = ()
    """Beginnings, in addition to `-`, that no name that a glob expands to may have."""
    modules: tuple[tuple[str, str], ...] = ()
    """Pairs of a folder in which Python runs and a module: no file of that folder may be imported instead of it."""
    makes_files: bool = False
    """Whether other commands of the call could create such files."""
