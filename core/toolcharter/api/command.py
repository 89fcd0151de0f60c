"""A judged command: what it asks of rules, and what has to be true on disk for it to mean what its letters say.

The shell guard makes these values, policy and the gate read them. Values only.
"""

from typing import Final, NamedTuple

MAY: Final = "may"
"""A `PathAccess.change`: the command may change the path or only read it, its table does not say which, as for `sed -i`."""


class Requirement(NamedTuple):
    """A word of a command that an allow rule has to mention before it covers the command."""

    form: str
    """As in the normal form."""
    why: str
    """For people: `'-delete' deletes`, `'/etc/passwd' lies outside the workspace`."""
    times: int = 1
    """How often the word stands in the command: a rule has to write it as often, for `git *` names no branch `git`."""


class PathAccess(NamedTuple):
    """A path that a command may look at: it lies in the workspace by its letters, and the gate looks whether links lead out."""

    path: str
    """As the program gets it, or a glob over such paths."""
    is_pattern: bool = False
    folders: tuple[str, ...] = (".",)
    """From where it is seen, relative to the workspace."""
    change: str = ""
    """Empty if the path is only looked at. Else the role of its word (what is made in a folder is made `into` it), or `MAY`."""
    copied_into: "PathAccess | None" = None
    """The folder in which a copy of it, or a link to it, gets its name."""
    copies_content: bool = False
    """What lies in it gets its names there, instead."""


class ListedNames(NamedTuple):
    """Names on disk that one program prints and another one reads as its words."""

    path: str
    """Below or in what they lie, or a glob that they match; as the printing program gets it."""
    folders: tuple[str, ...] = (".",)
    """From where it is seen, relative to the workspace."""
    kind: str = "below"
    """`below`: at any depth; `in`: right in it; `matches`; `files`: that match, and none of them a folder; `index`: those
    that git tracks there; `folder`: a folder that can be entered; `unlinked`: that match, of which none is a link or holds one."""
    is_bare: bool = False
    """Whether they are printed without the path in front, so that one could be an option."""
    is_split: bool = True
    """Whether a blank, a newline, a quote or a backslash in one would make other words of it."""
    name: str = ""
    """A glob that all of them match, for `below`: folders on the way do not. Empty for any name."""
    is_globbed: bool = False
    """Whether a shell reads them: signs of a glob in one would make other names of it."""


class AnalysedCommand(NamedTuple):
    """One command that a call would run."""

    form: str
    """Its normal form, which rules see."""
    needs: tuple[Requirement, ...] = ()
    """What an allow rule has to mention besides matching."""
    reaches: tuple[PathAccess, ...] = ()
    """What has to lie in the workspace by more than its letters."""
    program: str = ""
    """As written; empty for assignments and redirections alone."""
    folders: tuple[str, ...] = (".",)
    """Where it may run, relative to the workspace; empty if that cannot be determined."""
    is_known: bool = True
    """Whether there is a table of its program."""
    bare: str | None = None
    """The normal form without the assignments before the program, if they are all harmless; that of `[[ ... ]]` as `test`
    would have it; None otherwise."""
    is_transparent: bool = False
    """Whether it needs no allow rule beside those of what it starts."""
    within: tuple[str, ...] = ()
    """What it stands in, outermost first."""
    deny_forms: tuple[str, ...] = ()
    """What else a deny rule may match: its words alone where assignments or redirections stand beside them, the bare
    name of a program given by a path, the subcommand without the options before it, `[` and `[[` as `test`. Those of the
    first command hold what the floor has found in texts and files of the line, too."""
    listings: tuple[ListedNames, ...] = ()
    """Names that it gets from what another command prints."""
    marks: tuple[str, ...] = ()
    """What no name may begin with that a glob of the line stands for: the program takes `@x` for a file of options, say."""
    module: str = ""
    """What it has Python import, as `json.tool`: nothing in its folder may be imported instead. Empty for none."""
    starters: tuple["Starter", ...] = ()
    """The commands that start it, innermost first: a rule for one of them covers it, too, if it mentions enough."""


class Starter(NamedTuple):
    """A command as what covers another one, which it starts."""

    form: str
    """Its normal form, which rules see."""
    needs: tuple[Requirement, ...]
    """What a rule has to mention: the program that is started and all that either command asks for."""
    bare: str | None = None
    """As of `AnalysedCommand`."""


class DiskPreconditions(NamedTuple):
    """What has to hold in the world for the commands of a call to mean what their letters say."""

    places: tuple[PathAccess, ...] = ()
    """Have to lie in the workspace."""
    programs: tuple[str, ...] = ()
    """Names that must not lead into the workspace."""
    repositories: tuple[str, ...] = ()
    """Folders, relative to the workspace, in which git would run."""
    links_repositories: bool = False
    """Whether git would add files, and then start itself in every repository among them."""
    names: tuple[ListedNames, ...] = ()
    """Have to be handed on unchanged."""
    blames: bool = False
    """Whether git would read the file of commits to be passed over that the repository names."""
    marks: tuple[str, ...] = ()
    """What no name may begin with that a glob stands for, besides `-`."""
    modules: tuple[tuple[str, str], ...] = ()
    """Modules of Python, and the folders in which nothing may be imported in the place of each."""
    makes_files: bool = False
    """Whether other commands of the call could make such a thing."""
