"""Makes random simple commands of the programs that the sample policy allows, by the tables of their options."""

from collections.abc import Mapping, Sequence
from random import Random

from shell_fuzz import fragments, programs
from shell_fuzz.spelling import spell
from toolcharter.guards.shell.programs.table import Operands, OptionSpec, Role, Table
from toolcharter.guards.shell.programs.tables import CORE_TABLES

_RISKY = frozenset({"write", "program", "code", "script", "chdir", "change", "into", "assignment"})
_RISK = 0.02
"""How often a value is chosen that the guard should refuse."""
_SLOW = frozenset({"pytest", "python"})
_BUILTINS_ONLY = frozenset({"cd", "true", "false", "pwd"})


class Commands:
    """Makes commands; the same *random* gives the same commands."""

    def __init__(self, programs: Sequence[str], random: Random) -> None:
        self._random = random
        self._programs = [name for name in programs if name not in _SLOW]
        self._slow = [name for name in programs if name in _SLOW]

    def any(self) -> str:
        """Return one simple command, as source."""
        random = self._random
        program = random.choice(self._slow if self._slow and self._happens(0.002) else self._programs)
        if program == "git" or self._happens(0.12):
            return " ".join(["git", *self._git()])
        words = [spell(program, random) if self._happens(0.03) else program]
        return " ".join([*words, *self._arguments(program)])

    def _arguments(self, program: str) -> list[str]:
        entry = CORE_TABLES.find(program)
        if entry is None or program in _BUILTINS_ONLY:
            return [self._path()] if program == "cd" else []
        if program in {"python", "pytest"}:
            return ["-m", "pytest", "-q"] if program == "python" else ["-q", "tests"]
        if entry.table.style == "find":
            return self._find(entry.table)
        if entry.table.style == "test":
            return self._test(entry.table, program)
        words = self._by_table(entry.table)
        return [*words, *self._inner()] if program == "xargs" else words

    def _git(self) -> list[str]:
        entry, random = CORE_TABLES.find("git"), self._random
        if entry is None:
            return ["status"]
        ordinary = [name for name, table in entry.table.subcommands.items() if not table.named]
        every = tuple(entry.table.subcommands)
        name = random.choice(every if random.random() < _RISK else ordinary)
        before = ["--no-pager"] if self._happens(0.1) else self._options(entry.table, 1 if self._risks() else 0)
        return [*before, name, *self._by_table(entry.table.subcommands[name])]

    def _by_table(self, table: Table) -> list[str]:
        random = self._random
        options = self._options(table, random.choice((0, 0, 1, 1, 2, 3)))
        if table.style == "subcommands" and table.subcommands:
            name = random.choice(tuple(table.subcommands))
            return [*options, name, *self._by_table(table.subcommands[name])]
        operands = self._operands(table.operands)
        if table.style == "gnu" and self._happens(0.2):
            return [*operands, *options]
        return [*options, *(["--"] if self._happens(0.05) else []), *operands]

    def _options(self, table: Table, number: int) -> list[str]:
        named = [(spelling, spec) for spelling, spec in table.options.items() if _is_risky(spec)]
        plain = [(spelling, spec) for spelling, spec in table.options.items() if not _is_risky(spec)]
        words: list[str] = []
        for _ in range(number):
            options = named if named and (self._risks() or not plain) else plain
            if options:
                words += self._option(*self._random.choice(options), table)
        return words

    def _option(self, spelling: str, spec: OptionSpec, table: Table) -> list[str]:
        random = self._random
        if spelling.startswith("--") and table.abbreviations and self._happens(0.1):
            spelling = spelling[: random.randrange(3, len(spelling) + 1)]
        if not spec.roles:
            return [spelling]
        values = [self._value(role) for role in spec.roles]
        if len(values) > 1:
            return [spelling, *values]
        glue = "=" if spelling.startswith("--") else ""
        if spec.is_attached:
            return [f"{spelling}{glue}{values[0]}"] if self._happens(0.7) else [spelling]
        return [f"{spelling}{glue}{values[0]}"] if self._happens(0.5) else [spelling, *values]

    def _operands(self, operands: Operands) -> list[str]:
        random = self._random
        words = [self._value(role) for role in operands.first if self._happens(0.9)]
        if operands.rest is not None:
            words += [self._value(operands.rest) for _ in range(random.choice((0, 1, 1, 1, 2, 3)))]
        return words + [self._value(role) for role in operands.last]

    def _value(self, role: Role) -> str:
        random = self._random
        if role.kind in {"read", "tree", "node", "local", "folder", "chdir"}:
            return self._path(folders=role.kind in {"folder", "tree", "chdir"})
        if role.kind in {"format", "only"}:
            texts = _LANGUAGES.get(role.argument, fragments.FORMATS)
            return spell(random.choice(role.argument.split("|") if role.kind == "only" else texts), random)
        if role.kind in _FIXED:
            return random.choice(_FIXED[role.kind])
        if self._risks():
            return self._doubtful()
        texts = random.choice((fragments.TEXTS, fragments.TEXTS, fragments.REGEXES, fragments.FORMATS))
        return spell(random.choice(texts), random)

    def _path(self, *, folders: bool = False) -> str:
        random = self._random
        if self._happens(0.03):
            return random.choice(fragments.OUTSIDE)
        if self._happens(0.07):
            return random.choice(fragments.GLOBS)
        if self._happens(0.03):
            return self._doubtful()
        return spell(random.choice(fragments.FOLDERS if folders or self._happens(0.08) else fragments.FILES), random)

    def _doubtful(self) -> str:
        return self._random.choice(
            (
                '"$x"',
                "$x",
                "${x:-a}",
                '"$(pwd)"',
                "$(echo a.txt)",
                '"${x##*/}"',
                "$((1+1))",
                '"$PWD"',
                "{a,b}.txt",
                "$1",
            )
        )

    def _inner(self) -> list[str]:
        """Return the command of `xargs` or `find -exec`."""
        random = self._random
        program = random.choice(("cat", "wc", "grep", "head", "ls", "echo", "stat", "file", "sed", "basename", "sort"))
        if self._risks():
            program = random.choice(("touch", "sh", "rm", "./evil.sh", "env", "xargs", "find", "git"))
        entry = CORE_TABLES.find(program)
        return [program] if entry is None else [program, *self._by_table(entry.table)[:3]]

    def _find(self, table: Table) -> list[str]:
        random = self._random
        words = [self._path(folders=True) for _ in range(random.choice((0, 1, 1, 1, 2)))]
        predicates = tuple(table.predicates.items())
        for _ in range(random.choice((1, 1, 2, 3))):
            name, spec = random.choice(predicates)
            while _is_risky(spec) and not self._risks():
                name, spec = random.choice(predicates)
            words += [*random.choice(_GLUE), name]
            if any(role.kind == "exec" for role in spec.roles):
                end = random.choice((["{}", "\\;"], ["{}", "+"], ["\\;"], ["{}", "';'"]))
                words += [*self._inner(), *end]
            else:
                words += [self._of_find(name, role) for role in spec.roles]
        return words

    def _of_find(self, name: str, role: Role) -> str:
        values = _FIND.get(name)
        return spell(self._random.choice(values), self._random) if values else self._value(role)

    def _test(self, table: Table, program: str) -> list[str]:
        random = self._random
        if self._happens(0.5):
            words = [random.choice(tuple(table.options) or ("-n",)), self._path()]
        else:
            words = [self._path(), random.choice(tuple(table.predicates) or ("=",)), self._path()]
        if self._happens(0.2):
            words = ["!", *words]
        return [*words, "]"] if program == "[" else words

    def _risks(self) -> bool:
        return self._happens(_RISK)

    def _happens(self, chance: float) -> bool:
        return self._random.random() < chance


def _is_risky(spec: OptionSpec) -> bool:
    return spec.needs_mention or any(role.needs_mention or role.kind in _RISKY for role in spec.roles)


_LANGUAGES: Mapping[str, Sequence[str]] = {
    "sed": programs.SED,
    "awk": programs.AWK,
    "jq": programs.JQ,
    "git_pretty": fragments.FORMATS,
    "git_reflog": ("show", "HEAD", "main", "exists", "expire", "delete"),
}
_FIXED: Mapping[str, Sequence[str]] = {
    "number": ("0", "1", "2", "3", "+2", "-1", "1K", "0x2"),
    "command": ("",),
    "exec": ("",),
}
_GLUE: Sequence[Sequence[str]] = ((), (), (), ("-not",), ("!",), ("-o",), ("-a",), ("-or",))
_FIND: Mapping[str, Sequence[str]] = {
    "-type": ("f", "d", "l", "f,d", "x"),
    "-size": ("+1k", "-1M", "0", "2c"),
    "-perm": ("644", "/111", "-u=x", "u+w"),
    "-maxdepth": ("0", "1", "2", "3"),
    "-mindepth": ("0", "1", "2"),
    "-name": ("*.py", "*.md", "a*", "link*", "[a-z]*", "*"),
    "-iname": ("*.PY", "readme*"),
    "-regextype": ("posix-extended", "awk", "x"),
    "-newermt": ("yesterday", "2020-01-01", "x"),
    "-printf": ("%p\\n", "%f %s\\n", "%l", "%h\\0", "%Td"),
    "-user": ("root", "0", "nobody"),
}
