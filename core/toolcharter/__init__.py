"""toolcharter: tools for AI agents, each call through one gate. All that a plugin may import.

Names load on first use (PEP 562), so that `import toolcharter` costs next to nothing.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

# This module alone is read by any Python 3, so that an old one says what is wrong with it.
if sys.version_info < (3, 11):  # noqa: UP036 - pip checks it, PYTHONPATH and copied environments do not
    _NEEDED = "toolcharter needs Python 3.11 or newer; this is Python %d.%d, %s." % (  # noqa: UP031 - as above
        sys.version_info[0],
        sys.version_info[1],
        sys.executable,
    )
    if sys.argv[0] == "-m" or sys.argv[0].replace("\\", "/").rpartition("/")[2].startswith("toolcharter"):
        sys.stderr.write(_NEEDED + "\n")  # the command: a person reads it, and needs no traceback
        sys.exit(2)
    raise ImportError(_NEEDED)

if TYPE_CHECKING:
    from toolcharter.errors import ConfigurationError as ConfigurationError
    from toolcharter.errors import Denied as Denied
    from toolcharter.errors import Fault as Fault
    from toolcharter.errors import NotDelivered as NotDelivered
    from toolcharter.errors import NotGated as NotGated
    from toolcharter.errors import PluginError as PluginError
    from toolcharter.errors import SpecError as SpecError
    from toolcharter.errors import SyncCallInLoop as SyncCallInLoop
    from toolcharter.errors import ToolboxClosed as ToolboxClosed
    from toolcharter.errors import ToolcharterError as ToolcharterError
    from toolcharter.errors import ToolError as ToolError
    from toolcharter.gate.approvals.terminal import TerminalApprover as TerminalApprover
    from toolcharter.gate.build.open import build_tools as build_tools
    from toolcharter.gate.live import LiveToolbox as LiveToolbox
    from toolcharter.gate.live import open_live as open_live
    from toolcharter.gate.toolbox import Tool as Tool
    from toolcharter.gate.toolbox import Toolbox as Toolbox
    from toolcharter.guards.output import mask_middle as mask_middle
    from toolcharter.guards.process.launch import Launch as Launch
    from toolcharter.guards.process.limits import controlling as controlling
    from toolcharter.guards.process.limits import limited as limited
    from toolcharter.guards.process.local import LocalRunner as LocalRunner
    from toolcharter.guards.process.marks import Mark as Mark
    from toolcharter.guards.process.marks import is_marked as is_marked
    from toolcharter.guards.secrets.text import scrub_text as scrub_text
    from toolcharter.hookspecs import hookimpl as hookimpl
    from toolcharter.loader.imports import python_command as python_command
    from toolcharter.spec.approval import ApprovalAnswer as ApprovalAnswer
    from toolcharter.spec.approval import ApprovalRequest as ApprovalRequest
    from toolcharter.spec.approval import Approver as Approver
    from toolcharter.spec.call import Ask as Ask
    from toolcharter.spec.call import Call as Call
    from toolcharter.spec.call import Caller as Caller
    from toolcharter.spec.call import Decision as Decision
    from toolcharter.spec.call import Deny as Deny
    from toolcharter.spec.call import Invocation as Invocation
    from toolcharter.spec.call import ToolResult as ToolResult
    from toolcharter.spec.channel import Channel as Channel
    from toolcharter.spec.channel import Notification as Notification
    from toolcharter.spec.channel import Pause as Pause
    from toolcharter.spec.channel import Sender as Sender
    from toolcharter.spec.discovery import DiscovererPolicy as DiscovererPolicy
    from toolcharter.spec.discovery import Discovery as Discovery
    from toolcharter.spec.discovery import ProfileView as ProfileView
    from toolcharter.spec.explanation import Explanation as Explanation
    from toolcharter.spec.extension import CheckPolicy as CheckPolicy
    from toolcharter.spec.extension import ExtensionPolicy as ExtensionPolicy
    from toolcharter.spec.extension import ExtensionSpec as ExtensionSpec
    from toolcharter.spec.extension import Sink as Sink
    from toolcharter.spec.leases import Claim as Claim
    from toolcharter.spec.leases import Lease as Lease
    from toolcharter.spec.leases import Leases as Leases
    from toolcharter.spec.network import Connect as Connect
    from toolcharter.spec.network import Http as Http
    from toolcharter.spec.network import HttpAnswer as HttpAnswer
    from toolcharter.spec.network import HttpLimits as HttpLimits
    from toolcharter.spec.network import NetworkPolicy as NetworkPolicy
    from toolcharter.spec.numbers import require_finite as require_finite
    from toolcharter.spec.paths import Entry as Entry
    from toolcharter.spec.paths import OpenFile as OpenFile
    from toolcharter.spec.paths import OpenFolder as OpenFolder
    from toolcharter.spec.paths import OpenPlace as OpenPlace
    from toolcharter.spec.paths import Paths as Paths
    from toolcharter.spec.policy import ProgramPlace as ProgramPlace
    from toolcharter.spec.policy import ToolPolicy as ToolPolicy
    from toolcharter.spec.reasons import GuardReason as GuardReason
    from toolcharter.spec.reasons import Reason as Reason
    from toolcharter.spec.regular_files import read_regular as read_regular
    from toolcharter.spec.reload import Reload as Reload
    from toolcharter.spec.runner import Detached as Detached
    from toolcharter.spec.runner import Ended as Ended
    from toolcharter.spec.runner import HiddenPath as HiddenPath
    from toolcharter.spec.runner import Job as Job
    from toolcharter.spec.runner import ProcessLimits as ProcessLimits
    from toolcharter.spec.runner import ProgramRunner as ProgramRunner
    from toolcharter.spec.runner import RunnerScope as RunnerScope
    from toolcharter.spec.runner import Running as Running
    from toolcharter.spec.runner import TerminalSize as TerminalSize
    from toolcharter.spec.runtime import Completed as Completed
    from toolcharter.spec.runtime import ToolContext as ToolContext
    from toolcharter.spec.runtime import ToolRuntime as ToolRuntime
    from toolcharter.spec.tool import ToolSpec as ToolSpec
    from toolcharter.spec.variables import check_variables as check_variables

_HOMES = {
    "toolcharter.errors": (
        "ConfigurationError Denied Fault NotDelivered NotGated PluginError SpecError SyncCallInLoop "
        "ToolboxClosed ToolcharterError ToolError"
    ),
    "toolcharter.gate.approvals.terminal": "TerminalApprover",
    "toolcharter.gate.build.open": "build_tools",
    "toolcharter.gate.live": "LiveToolbox open_live",
    "toolcharter.gate.toolbox": "Tool Toolbox",
    "toolcharter.guards.output": "mask_middle",
    "toolcharter.guards.process.launch": "Launch",
    "toolcharter.guards.process.limits": "controlling limited",
    "toolcharter.guards.process.local": "LocalRunner",
    "toolcharter.guards.process.marks": "Mark is_marked",
    "toolcharter.guards.secrets.text": "scrub_text",
    "toolcharter.hookspecs": "hookimpl",
    "toolcharter.loader.imports": "python_command",
    "toolcharter.spec.approval": "ApprovalAnswer ApprovalRequest Approver",
    "toolcharter.spec.call": "Ask Call Caller Decision Deny Invocation ToolResult",
    "toolcharter.spec.channel": "Channel Notification Pause Sender",
    "toolcharter.spec.discovery": "DiscovererPolicy Discovery ProfileView",
    "toolcharter.spec.explanation": "Explanation",
    "toolcharter.spec.extension": "CheckPolicy ExtensionPolicy ExtensionSpec Sink",
    "toolcharter.spec.leases": "Claim Lease Leases",
    "toolcharter.spec.network": "Connect Http HttpAnswer HttpLimits NetworkPolicy",
    "toolcharter.spec.paths": "Entry OpenFile OpenFolder OpenPlace Paths",
    "toolcharter.spec.policy": "ProgramPlace ToolPolicy",
    "toolcharter.spec.reasons": "GuardReason Reason",
    "toolcharter.spec.numbers": "require_finite",
    "toolcharter.spec.regular_files": "read_regular",
    "toolcharter.spec.reload": "Reload",
    "toolcharter.spec.runner": "Detached Ended HiddenPath Job ProcessLimits ProgramRunner RunnerScope Running TerminalSize",
    "toolcharter.spec.runtime": "Completed ToolContext ToolRuntime",
    "toolcharter.spec.tool": "ToolSpec",
    "toolcharter.spec.variables": "check_variables",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__version__ = "0.1.0"
__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - the same names as above; a test compares the two


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        message = f"module 'toolcharter' has no attribute {name!r}"
        raise AttributeError(message)
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
