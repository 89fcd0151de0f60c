"""For hosts: frameworks, servers and agents that offer a profile's tools to a model. Begin with `open_host`.

A host gets schemas in its model's format, makes calls by name, and may put tools of its own behind the same gate.
"""

from toolcharter.events.emitter import Emitter
from toolcharter.hosts.actions import ModelAction, ParsedActions, parse_actions
from toolcharter.hosts.events import open_sinks
from toolcharter.hosts.formats import FORMATS, Format, HostTool, arguments_of, formatted
from toolcharter.hosts.host import Host, open_host
from toolcharter.hosts.network import open_http, require_public
from toolcharter.hosts.pending import PendingApproval, StateRejected
from toolcharter.hosts.results import HostResult, described

__all__ = [
    "FORMATS",
    "Emitter",
    "Format",
    "Host",
    "HostResult",
    "HostTool",
    "ModelAction",
    "ParsedActions",
    "PendingApproval",
    "StateRejected",
    "arguments_of",
    "described",
    "formatted",
    "open_host",
    "open_http",
    "open_sinks",
    "parse_actions",
    "require_public",
]
