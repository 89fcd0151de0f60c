"""For hosts: frameworks, servers and agents that hand a profile's tools to a model. `open_host` begins.

A host gets schemas in its model's format, makes calls by name, and may put tools that are not ours behind the same gate.
"""

from toolcharter.hosts.formats import FORMATS, Format, HostTool, arguments_of, formatted
from toolcharter.hosts.host import Host, open_host
from toolcharter.hosts.network import open_http, require_public
from toolcharter.hosts.pending import PendingApproval, StateRejected
from toolcharter.hosts.results import HostResult, described

__all__ = [
    "FORMATS",
    "Format",
    "Host",
    "HostResult",
    "HostTool",
    "PendingApproval",
    "StateRejected",
    "arguments_of",
    "described",
    "formatted",
    "open_host",
    "open_http",
    "require_public",
]
