"""The limits of a server that is registered over HTTP. They are stricter than for a server in an operator's profile."""

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from toolcharter import check_variables

PROGRAMS = frozenset({"bun", "bunx", "deno", "node", "npx", "pipx", "python", "python3", "uv", "uvx"})
"""Programs that start servers from packages. A server that needs another program has to be in a profile.

Source: GoClaw's list, without docker, which would give access to the whole machine.
"""
_RUNS_TEXT = re.compile(r"^(-[a-zA-Z]*[cep]|-[cep].*|--?(eval|print|command|exec|call|import|require|loader)(=.*)?)$")
"""Options that make these programs run text, or code from another file, instead of a server."""
_UNSAFE = re.compile(r"[;&|`$<>(){}\[\]*?!\\\"'\n\r\x00-\x1f\x7f]")
"""Characters that are special to shells and interpreters. No shell runs the command, but a server may start a shell."""
_REFERENCE = re.compile(r"^(env|file):", re.IGNORECASE)

Value = Annotated[str, StringConstraints(max_length=8_192)]


class NewServer(BaseModel):
    """A server to register or change."""

    model_config = ConfigDict(extra="forbid", strict=True)

    transport: Literal["stdio", "sse", "streamable-http"]
    command: str | None = Field(default=None, min_length=1, max_length=64)
    """For `stdio`: one of the programs that start servers from packages."""
    args: Annotated[list[Value], Field(max_length=64)] = Field(default_factory=list)
    env: Annotated[
        dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")], Value], Field(max_length=64)
    ] = Field(default_factory=dict)
    """Stored encrypted; never shown again. `secret:NAME` refers to a secret of the tenant."""
    url: str | None = Field(default=None, max_length=2_048, pattern=r"^https?://[^\s]+$")
    """For the other transports: a public address."""
    headers: Annotated[
        dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")], Value],
        Field(max_length=64),
    ] = Field(default_factory=dict)
    """Like `env`."""
    timeout_s: float = Field(default=60.0, gt=0, le=3_600)
    """How long one call may take, in seconds."""
    enabled: bool = True

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for fault in self.faults():
            raise ValueError(fault)
        return self

    def faults(self) -> list[str]:
        """Return what is wrong with the server, as sentences. Its address is checked elsewhere."""
        faults = list[str]()
        if self.transport == "stdio":
            faults += self._program_faults()
        elif self.url is None:
            faults.append(f"A server of transport {self.transport} needs a url.")
        if self.transport != "stdio" and (self.command or self.args or self.env):
            faults.append("command, args and env are for servers of transport stdio.")
        if self.transport == "stdio" and (self.url or self.headers):
            faults.append("url and headers are for servers of transport sse or streamable-http.")
        for name, value in (*self.env.items(), *self.headers.items()):
            if _REFERENCE.match(value):
                faults.append(f"{name}: the service's environment and files belong to the operator; write secret:NAME.")
            if "\n" in value or "\r" in value or "\0" in value:
                faults.append(f"{name}: a value is one line.")
        return faults

    def _program_faults(self) -> list[str]:
        if self.command is None:
            return ["A server of transport stdio needs a command."]
        faults = list[str]()
        try:
            check_variables(self.env)
        except ValueError as error:
            faults.append(f"env: {error}.")
        if self.command not in PROGRAMS:
            faults.append(
                f"The command is one of {', '.join(sorted(PROGRAMS))}; other commands are only allowed in a profile."
            )
        for arg in self.args:
            if _RUNS_TEXT.match(arg):
                faults.append(f"The argument {arg[:50]!r} would run text or other code.")
            elif _UNSAFE.search(arg):
                faults.append(f"The argument {arg[:50]!r} has a character that is special to shells or interpreters.")
        return faults
