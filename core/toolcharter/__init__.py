"""toolcharter: tools for AI agents, each call through one gate. A plugin imports from here only.

Names load on first use (PEP 562), so that `import toolcharter` costs next to nothing.
"""

import sys

# Only this module has to compile under any Python 3, so that an old interpreter reports what is wrong with it.
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

from toolcharter._own_imports import import_own_last

import_own_last()  # before the first import of a module whose name a file beside the user's script may have

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolcharter._lazy import lazy as lazy
    from toolcharter.api.agents import AgentRequest as AgentRequest
    from toolcharter.api.agents import AgentResult as AgentResult
    from toolcharter.api.agents import Agents as Agents
    from toolcharter.api.agents import AgentTask as AgentTask
    from toolcharter.api.agents import GovernedTools as GovernedTools
    from toolcharter.api.agents import RunningAgent as RunningAgent
    from toolcharter.api.allowance import Allowance as Allowance
    from toolcharter.api.approval import ApprovalAnswer as ApprovalAnswer
    from toolcharter.api.approval import ApprovalHandedOn as ApprovalHandedOn
    from toolcharter.api.approval import ApprovalRequest as ApprovalRequest
    from toolcharter.api.approval import Approver as Approver
    from toolcharter.api.bus import Bus as Bus
    from toolcharter.api.bus import BusLease as BusLease
    from toolcharter.api.bus import Delivery as Delivery
    from toolcharter.api.bus import Queue as Queue
    from toolcharter.api.bus import Subscription as Subscription
    from toolcharter.api.bus import bus_name as bus_name
    from toolcharter.api.call import TRACE as TRACE
    from toolcharter.api.call import Ask as Ask
    from toolcharter.api.call import Call as Call
    from toolcharter.api.call import Caller as Caller
    from toolcharter.api.call import Decision as Decision
    from toolcharter.api.call import Delegation as Delegation
    from toolcharter.api.call import Deny as Deny
    from toolcharter.api.call import Invocation as Invocation
    from toolcharter.api.call import ToolResult as ToolResult
    from toolcharter.api.call import TraceContext as TraceContext
    from toolcharter.api.channel import Attachment as Attachment
    from toolcharter.api.channel import Channel as Channel
    from toolcharter.api.channel import ChannelUrl as ChannelUrl
    from toolcharter.api.channel import Deliverable as Deliverable
    from toolcharter.api.channel import Message as Message
    from toolcharter.api.channel import Notification as Notification
    from toolcharter.api.channel import Pause as Pause
    from toolcharter.api.channel import Sender as Sender
    from toolcharter.api.discovery import CapabilityBounds as CapabilityBounds
    from toolcharter.api.discovery import DiscovererPolicy as DiscovererPolicy
    from toolcharter.api.discovery import Discovery as Discovery
    from toolcharter.api.discovery import DiscoveryRuntime as DiscoveryRuntime
    from toolcharter.api.discovery import ProfileView as ProfileView
    from toolcharter.api.explanation import Explanation as Explanation
    from toolcharter.api.extension import CheckPolicy as CheckPolicy
    from toolcharter.api.extension import ExtensionPolicy as ExtensionPolicy
    from toolcharter.api.extension import ExtensionSpec as ExtensionSpec
    from toolcharter.api.extension import Sink as Sink
    from toolcharter.api.job import Job as Job
    from toolcharter.api.job import ProcessLimits as ProcessLimits
    from toolcharter.api.leases import Claim as Claim
    from toolcharter.api.leases import Lease as Lease
    from toolcharter.api.leases import Leases as Leases
    from toolcharter.api.mcp_access import MCP_RECORDS as MCP_RECORDS
    from toolcharter.api.mcp_access import McpAccess as McpAccess
    from toolcharter.api.mcp_access import McpAccessReason as McpAccessReason
    from toolcharter.api.mcp_access import McpAgentGrant as McpAgentGrant
    from toolcharter.api.mcp_access import McpServerRecord as McpServerRecord
    from toolcharter.api.mcp_access import McpToolsRecord as McpToolsRecord
    from toolcharter.api.mcp_access import McpUserGrant as McpUserGrant
    from toolcharter.api.network import Connect as Connect
    from toolcharter.api.network import Http as Http
    from toolcharter.api.network import HttpAnswer as HttpAnswer
    from toolcharter.api.network import HttpLimits as HttpLimits
    from toolcharter.api.network import NetworkPolicy as NetworkPolicy
    from toolcharter.api.paths import Entry as Entry
    from toolcharter.api.paths import OpenFile as OpenFile
    from toolcharter.api.paths import OpenFolder as OpenFolder
    from toolcharter.api.paths import OpenPlace as OpenPlace
    from toolcharter.api.paths import Paths as Paths
    from toolcharter.api.paths import read_regular as read_regular
    from toolcharter.api.policy import ProgramPlace as ProgramPlace
    from toolcharter.api.policy import ToolPolicy as ToolPolicy
    from toolcharter.api.policy import check_variables as check_variables
    from toolcharter.api.policy import require_finite as require_finite
    from toolcharter.api.reasons import GuardReason as GuardReason
    from toolcharter.api.reasons import Reason as Reason
    from toolcharter.api.runner import Detached as Detached
    from toolcharter.api.runner import Ended as Ended
    from toolcharter.api.runner import HiddenPath as HiddenPath
    from toolcharter.api.runner import ProgramRunner as ProgramRunner
    from toolcharter.api.runner import RunnerScope as RunnerScope
    from toolcharter.api.runner import Running as Running
    from toolcharter.api.runner import TerminalSize as TerminalSize
    from toolcharter.api.runtime import Completed as Completed
    from toolcharter.api.runtime import Reload as Reload
    from toolcharter.api.runtime import ToolContext as ToolContext
    from toolcharter.api.runtime import ToolRuntime as ToolRuntime
    from toolcharter.api.secret import CORE_RECORDS as CORE_RECORDS
    from toolcharter.api.secret import SecretRecord as SecretRecord
    from toolcharter.api.sessions import SESSION_RECORDS as SESSION_RECORDS
    from toolcharter.api.sessions import Inbox as Inbox
    from toolcharter.api.sessions import InboxItem as InboxItem
    from toolcharter.api.sessions import InboxRecord as InboxRecord
    from toolcharter.api.sessions import SessionMessage as SessionMessage
    from toolcharter.api.sessions import SessionRecord as SessionRecord
    from toolcharter.api.sessions import Sessions as Sessions
    from toolcharter.api.sessions import Usage as Usage
    from toolcharter.api.sessions import key_part as key_part
    from toolcharter.api.sessions import session_key as session_key
    from toolcharter.api.store import AsyncStore as AsyncStore
    from toolcharter.api.store import Change as Change
    from toolcharter.api.store import Page as Page
    from toolcharter.api.store import RecordKind as RecordKind
    from toolcharter.api.store import Store as Store
    from toolcharter.api.store import Stored as Stored
    from toolcharter.api.store import StoreLease as StoreLease
    from toolcharter.api.store import StoreRecord as StoreRecord
    from toolcharter.api.store import StoreTransaction as StoreTransaction
    from toolcharter.api.store_engine import EngineTransaction as EngineTransaction
    from toolcharter.api.store_engine import ExportedFence as ExportedFence
    from toolcharter.api.store_engine import ExportedItem as ExportedItem
    from toolcharter.api.store_engine import ExportedRow as ExportedRow
    from toolcharter.api.store_engine import NewRow as NewRow
    from toolcharter.api.store_engine import Row as Row
    from toolcharter.api.store_engine import Scope as Scope
    from toolcharter.api.store_engine import StoreEngine as StoreEngine
    from toolcharter.api.store_engine import StoreExport as StoreExport
    from toolcharter.api.tool import ToolSpec as ToolSpec
    from toolcharter.api.trace import read_trace as read_trace
    from toolcharter.api.trace import within_trace as within_trace
    from toolcharter.api.virtual import VirtualFile as VirtualFile
    from toolcharter.api.virtual import VirtualFolder as VirtualFolder
    from toolcharter.api.words import is_secret_reference as is_secret_reference
    from toolcharter.api.words import secret_name as secret_name
    from toolcharter.errors import BusUnavailable as BusUnavailable
    from toolcharter.errors import ConfigurationError as ConfigurationError
    from toolcharter.errors import Denied as Denied
    from toolcharter.errors import Fault as Fault
    from toolcharter.errors import NotDelivered as NotDelivered
    from toolcharter.errors import NotGated as NotGated
    from toolcharter.errors import PluginError as PluginError
    from toolcharter.errors import SpecError as SpecError
    from toolcharter.errors import StoreConflict as StoreConflict
    from toolcharter.errors import StoreUnavailable as StoreUnavailable
    from toolcharter.errors import SyncCallInLoop as SyncCallInLoop
    from toolcharter.errors import ToolboxClosed as ToolboxClosed
    from toolcharter.errors import ToolcharterError as ToolcharterError
    from toolcharter.errors import ToolError as ToolError
    from toolcharter.errors import UnreadableRecord as UnreadableRecord
    from toolcharter.events.files import EventLine as EventLine
    from toolcharter.events.files import event_lines as event_lines
    from toolcharter.events.files import with_rotated as with_rotated
    from toolcharter.gate.approvals.terminal import TerminalApprover as TerminalApprover
    from toolcharter.gate.build.open import build_tools as build_tools
    from toolcharter.gate.live import LiveToolbox as LiveToolbox
    from toolcharter.gate.live import open_live as open_live
    from toolcharter.gate.runners import runner_opener as runner_opener
    from toolcharter.gate.toolbox import Tool as Tool
    from toolcharter.gate.toolbox import Toolbox as Toolbox
    from toolcharter.guards.output import mask_middle as mask_middle
    from toolcharter.guards.process.launch import Launch as Launch
    from toolcharter.guards.process.limits import controlling as controlling
    from toolcharter.guards.process.limits import limited as limited
    from toolcharter.guards.process.local import LocalRunner as LocalRunner
    from toolcharter.guards.process.marks import Mark as Mark
    from toolcharter.guards.process.marks import is_marked as is_marked
    from toolcharter.guards.process.sockets import sockets_below as sockets_below
    from toolcharter.guards.secrets.text import scrub_text as scrub_text
    from toolcharter.guards.secrets.values import scrub_value as scrub_value
    from toolcharter.guards.shell.code_detection import code_arguments as code_arguments
    from toolcharter.guards.shell.code_detection import with_input as with_input
    from toolcharter.guards.shell.git.settings import GIT_SETTINGS as GIT_SETTINGS
    from toolcharter.guards.shell.git.settings import GIT_VARIABLES as GIT_VARIABLES
    from toolcharter.guards.shell.git.settings import git_setting_variables as git_setting_variables
    from toolcharter.guards.state_folder import StateFolder as StateFolder
    from toolcharter.guards.state_folder import UnsafeState as UnsafeState
    from toolcharter.guards.state_folder import state_path as state_path
    from toolcharter.guards.store.handle import StoreHandle as StoreHandle
    from toolcharter.hookspecs import hookimpl as hookimpl
    from toolcharter.loader.imports import python_command as python_command
    from toolcharter.loader.stores import open_bus as open_bus
    from toolcharter.loader.stores import open_store as open_store
    from toolcharter.profile.settings_file import SettingsFile as SettingsFile
    from toolcharter.profile.settings_file import read_settings as read_settings

_HOMES = {
    "toolcharter._lazy": "lazy",
    "toolcharter.errors": (
        "BusUnavailable ConfigurationError Denied Fault NotDelivered NotGated PluginError SpecError StoreConflict StoreUnavailable "
        "SyncCallInLoop ToolboxClosed ToolcharterError ToolError UnreadableRecord"
    ),
    "toolcharter.events.files": "EventLine event_lines with_rotated",
    "toolcharter.gate.approvals.terminal": "TerminalApprover",
    "toolcharter.gate.build.open": "build_tools",
    "toolcharter.gate.live": "LiveToolbox open_live",
    "toolcharter.gate.runners": "runner_opener",
    "toolcharter.gate.toolbox": "Tool Toolbox",
    "toolcharter.guards.output": "mask_middle",
    "toolcharter.guards.process.launch": "Launch",
    "toolcharter.guards.process.limits": "controlling limited",
    "toolcharter.guards.process.sockets": "sockets_below",
    "toolcharter.guards.process.local": "LocalRunner",
    "toolcharter.guards.process.marks": "Mark is_marked",
    "toolcharter.guards.secrets.text": "scrub_text",
    "toolcharter.guards.secrets.values": "scrub_value",
    "toolcharter.guards.shell.git.settings": "GIT_SETTINGS GIT_VARIABLES git_setting_variables",
    "toolcharter.guards.shell.code_detection": "code_arguments with_input",
    "toolcharter.guards.state_folder": "StateFolder UnsafeState state_path",
    "toolcharter.guards.store.handle": "StoreHandle",
    "toolcharter.hookspecs": "hookimpl",
    "toolcharter.loader.imports": "python_command",
    "toolcharter.loader.stores": "open_bus open_store",
    "toolcharter.profile.settings_file": "SettingsFile read_settings",
    "toolcharter.api.agents": "AgentRequest AgentResult AgentTask Agents GovernedTools RunningAgent",
    "toolcharter.api.allowance": "Allowance",
    "toolcharter.api.approval": "ApprovalAnswer ApprovalHandedOn ApprovalRequest Approver",
    "toolcharter.api.bus": "Bus BusLease Delivery Queue Subscription bus_name",
    "toolcharter.api.call": "TRACE Ask Call Caller Decision Delegation Deny Invocation ToolResult TraceContext",
    "toolcharter.api.channel": "Attachment Channel ChannelUrl Deliverable Message Notification Pause Sender",
    "toolcharter.api.discovery": "CapabilityBounds DiscovererPolicy Discovery DiscoveryRuntime ProfileView",
    "toolcharter.api.explanation": "Explanation",
    "toolcharter.api.extension": "CheckPolicy ExtensionPolicy ExtensionSpec Sink",
    "toolcharter.api.job": "Job ProcessLimits",
    "toolcharter.api.leases": "Claim Lease Leases",
    "toolcharter.api.mcp_access": "MCP_RECORDS McpAccess McpAccessReason McpAgentGrant McpServerRecord McpToolsRecord McpUserGrant",
    "toolcharter.api.network": "Connect Http HttpAnswer HttpLimits NetworkPolicy",
    "toolcharter.api.paths": "Entry OpenFile OpenFolder OpenPlace Paths read_regular",
    "toolcharter.api.policy": "ProgramPlace ToolPolicy check_variables require_finite",
    "toolcharter.api.reasons": "GuardReason Reason",
    "toolcharter.api.runner": "Detached Ended HiddenPath ProgramRunner RunnerScope Running TerminalSize",
    "toolcharter.api.runtime": "Completed Reload ToolContext ToolRuntime",
    "toolcharter.api.secret": "CORE_RECORDS SecretRecord",
    "toolcharter.api.sessions": (
        "SESSION_RECORDS Inbox InboxItem InboxRecord SessionMessage SessionRecord Sessions Usage key_part session_key"
    ),
    "toolcharter.api.store": "AsyncStore Change Page RecordKind Store StoreLease StoreRecord StoreTransaction Stored",
    "toolcharter.api.store_engine": (
        "EngineTransaction ExportedFence ExportedItem ExportedRow NewRow Row Scope StoreEngine StoreExport"
    ),
    "toolcharter.api.tool": "ToolSpec",
    "toolcharter.api.trace": "read_trace within_trace",
    "toolcharter.api.virtual": "VirtualFile VirtualFolder",
    "toolcharter.api.words": "is_secret_reference secret_name",
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
