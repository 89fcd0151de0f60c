"""What a plain line asks of the rule that would allow it."""

import shlex

from toolcharter.guards.shell.nodes import Command, Reading, Word
from toolcharter.guards.shell.programs.requirements import read_command

WORKSPACE = "/work/space"


def read_line(line: str) -> Reading:
    """*line* as the table of its program reads it: one command of literal words, in the workspace."""
    words = tuple(Word(shlex.quote(word), word, prefix=word) for word in shlex.split(line))
    return read_command(Command(words), workspace=WORKSPACE)


def required_words(line: str) -> str:
    """The words that a rule has to mention, each once."""
    return " ".join(dict.fromkeys(need.form for need in read_line(line).demand.needs))
