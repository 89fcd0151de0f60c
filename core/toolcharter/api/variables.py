"""Which environment variables a profile may hand to programs whose command lines were judged without them."""

import re
from collections.abc import Iterable, Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# They change what a line means, or what git, the loader and interpreters run.
# Source: bash(1), Shell Variables; ld.so(8), ENVIRONMENT; git(1), Environment Variables.
_RESERVED = re.compile(
    r"PATH|ENV|IFS|CDPATH|SHELLOPTS|POSIXLY_CORRECT|GLOBIGNORE|EXECIGNORE|PS[0-4]|PROMPT_COMMAND|HISTFILE|INPUTRC"
    r"|BASH.*|LD_.*|GIT_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|NLSPATH|PYTHON.*|PYTEST_.*|PERL5.*|RUBY(?:OPT|LIB)"
    r"|NODE_(?:OPTIONS|PATH)|TAR_OPTIONS|TAPE|RIPGREP_CONFIG_PATH|AWKPATH|AWKLIBPATH|LESS.*|MAN.*|.*PAGER|.*EDITOR|VISUAL"
)


def check_variables(variables: Iterable[str] | Mapping[str, str]) -> None:
    """Refuse variables that would change what a judged line means; for the validators of policies.

    Args:
        variables: Names, or names with their values.

    Raises:
        ValueError: A name is none, or is reserved; a value holds NUL.
    """
    for name in variables:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a variable")
        if _RESERVED.fullmatch(name):
            raise ValueError(f"{name!r} would change what a line that was judged means")
    if isinstance(variables, Mapping) and any("\0" in value for value in variables.values()):
        raise ValueError("a value holds NUL")
