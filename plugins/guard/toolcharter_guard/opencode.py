"""The plugin file by which OpenCode asks the guard: OpenCode has hooks only for plugins."""

import json
from collections.abc import Sequence

_SOURCE = """// Made by `toolcharter guard install opencode`; `toolcharter guard uninstall opencode` removes it.
import { spawnSync } from "node:child_process"

const words = %(words)s // %(mark)s

function ask(message) {
  const done = spawnSync(words[0], words.slice(1), { input: JSON.stringify(message), timeout: %(timeout_ms)d })
  if (done.error || done.status !== 0) {
    throw new Error(String(done.stderr || done.error || "toolcharter guard gave no answer, so the call is denied"))
  }
  return JSON.parse(done.stdout.toString())
}

// The server of a tool that is one of an MCP server: OpenCode puts both names into one.
async function context(client, tool) {
  if (!tool.includes("_")) return undefined
  const servers = Object.keys((await client.mcp.status()).data ?? {}).map((name) => name.replace(/[^a-zA-Z0-9_-]/g, "_"))
  const found = servers.filter((name) => tool.startsWith(name + "_"))
  if (found.length === 0) return undefined
  const [name] = found
  return { server_name: found.length === 1 ? name : "", tool_name: tool.slice(name.length + 1) }
}

function message(event, input, args, directory, server) {
  return {
    mcp_context: server,
    hook_event_name: event,
    tool_name: input.tool,
    tool_input: args,
    session_id: input.sessionID,
    tool_use_id: input.callID,
    cwd: directory,
  }
}

export const ToolcharterGuard = async ({ client, directory }) => {
  const calls = new Map()
  return {
    "tool.execute.before": async (input, output) => {
      const server = await context(client, input.tool)
      const call = message("tool.execute.before", input, output.args, directory, server)
      const answer = ask(call)
      if (answer.decision === "deny") throw new Error(answer.reason)
      calls.set(input.callID, structuredClone(call))
    },
    "tool.execute.after": async (input, output) => {
      const call = calls.get(input.callID) ?? message("", input, input.args ?? {}, directory)
      calls.delete(input.callID)
      const answer = ask({ ...call, hook_event_name: "tool.execute.after", tool_response: output.output })
      if (typeof answer.output === "string") output.output = answer.output
    },
  }
}
"""


def plugin_file(words: Sequence[str], mark: str, timeout_s: int) -> str:
    """Return JavaScript that starts *words* for each call. It throws if the call is denied or the hook gives no answer.

    Args:
        words: The hook's program and its arguments.
        mark: A text by which the guard recognises the file.
        timeout_s: How long the hook may take.
    """
    return _SOURCE % {"words": json.dumps(words), "mark": mark, "timeout_ms": timeout_s * 1000}
