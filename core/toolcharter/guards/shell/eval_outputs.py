"""Recognises commands whose output is meant for `eval`: `eval "$(ssh-agent -s)"`, `eval "$(direnv hook bash)"`.

There is no other way to set up a shell with these programs, so the guard treats such a line like `source FILE`: a rule has to
mention the words, and later commands run in an unknown folder. Sources: ssh-agent(1), dircolors(1), and the programs' manuals.
"""

import re
from collections.abc import Sequence
from typing import Final

from toolcharter.guards.shell.nodes import Command, Reading, Word

_ONE_OUTPUT: Final = re.compile(r'"?(?:\$\([^`]*\)|`[^`]*`)"?', re.DOTALL)
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_SHELL: Final = r"(?:bash|zsh|sh|ksh|dash|-)"
_PRINTERS: Final = re.compile(
    "|".join(
        (
            r"ssh-agent(?: -[sk])*",
            rf"direnv (?:hook|export) {_SHELL}",
            rf"(?:pyenv|rbenv|nodenv|goenv|jenv|plenv) init(?: (?:--path|--no-rehash|{_SHELL}))*",
            rf"pyenv virtualenv-init(?: {_SHELL})?",
            rf"(?:/(?:opt|usr|home)/[a-z./-]*)?brew shellenv(?: {_SHELL})?",
            rf"fnm env(?: (?:--use-on-cd|--shell[ =]{_SHELL}))*",
            rf"(?:starship|zoxide|atuin) init {_SHELL}",
            rf"(?:mise|rtx) (?:activate|env)(?: (?:--shims|-s|{_SHELL}))*",
            r"opam (?:config )?env(?: --shell=[a-z]+)?",
            rf"minikube(?: (?:-p|--profile)[ =]{_NAME})? (?:-p {_NAME} )?docker-env(?: --shell[ =][a-z]+)?",
            rf"docker-machine env {_NAME}",
            rf"(?:conda|mamba|micromamba) shell(?:\.| hook (?:-s|--shell)[ =]){_SHELL}(?: hook)?",
            r"dircolors(?: -b)?",
            rf"register-python-argcomplete {_NAME}",
            rf"keychain --eval(?: --quiet| --agents ssh| {_NAME})*",
            r"luarocks path(?: --bin)?",
            r"thefuck --alias",
            r"poetry env activate",
            r"resize",
            r"lesspipe(?:\.sh)?",
            rf"(?:npm|docker|kubectl|helm|gh|pip|uv|rustup|poetry) (?:generate-shell-)?completions?(?: (?:-s|{_SHELL}))*",
            rf"fzf --{_SHELL}",
        )
    )
)


def eval_scripts(
    command: Command, reading: Reading, commands: Sequence[Command], functions: Sequence[str]
) -> tuple[Word, ...]:
    """The words of the `eval` *command* that are shell source, except for output that is meant for `eval`.

    Args:
        command: The `eval`, one of *commands*.
        reading: The reading of *command*.
        commands: All commands of the line so far.
        functions: The names of the functions that the line defines. One could have the name of such a program.
    """
    arguments = command.words[1:]
    is_one = len(arguments) == len(command.substitutes) == 1
    if functions or not (is_one and _ONE_OUTPUT.fullmatch(arguments[0].form)):
        return reading.scripts
    printer = commands[command.substitutes[0]]
    is_plain = not (printer.assignments or printer.stdin_from) and all(word.is_literal for word in printer.words)
    is_quiet = all(one.form == "2>/dev/null" for one in printer.redirections)
    texts = " ".join(word.text or "" for word in printer.words)
    return () if is_plain and is_quiet and _PRINTERS.fullmatch(texts) else reading.scripts
