"""Models on loopback that follow a script: they have an agent call one tool after the other, and then answer `done`.

`guard doctor` and the tests start real agents with them, without a key. Each implements the interface of one provider.
"""

import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

Step = tuple[str, dict[str, Any]]
JSON = dict[str, Any]
SUBAGENT = "toolcharter guard: the task of a subagent"
"""The prompt of a subagent. A model that reads it follows the script `ScriptedModel.inner`."""
SPAWNED = "@SPAWNED@"
"""A placeholder in an argument for the identifier of the subagent that was started before."""


class ScriptedModel(ThreadingHTTPServer):
    """A server with a script of calls, which records what the client sends."""

    daemon_threads = True

    def __init__(self, answers: "type[Answers]", script: list[Step], inner: Sequence[Step] = ()) -> None:
        super().__init__(("127.0.0.1", 0), answers)
        self.script = script
        self.inner = inner
        self.told: list[Any] = []
        """The results of the calls that the client has sent to the model."""
        self.inner_told: list[Any] = []
        """The results of a subagent's calls."""
        self.tools: dict[str, set[str]] = {}
        """The tools that the client offers, with the names of their arguments."""

    def step(self, told: list[Any], prompts: object) -> Step | None:
        """Return the next call, or None after the last.

        Args:
            told: The results of the conversation's calls so far.
            prompts: The user's prompts in the conversation.
        """
        is_inner = SUBAGENT in json.dumps(prompts)
        if is_inner:
            self.inner_told = told
        else:
            self.told = told
        script = self.inner if is_inner else self.script
        if len(told) >= len(script):
            return None
        name, args = script[len(told)]
        found = re.search(r'"agent_id\W+([\w-]+)', json.dumps(told))
        return name, json.loads(json.dumps(args).replace(SPAWNED, found[1] if found else ""))

    @contextmanager
    def serving(self) -> "Generator[ScriptedModel]":
        """Serve in a thread until the block ends."""
        thread = threading.Thread(target=self.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class Answers(BaseHTTPRequestHandler, ABC):
    """One request of the client."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Log nothing."""

    def do_POST(self) -> None:
        """Answer a request according to the script."""
        said = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)))
        kind, text = self.answered(cast("ScriptedModel", self.server), said)
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @abstractmethod
    def answered(self, model: ScriptedModel, said: JSON) -> tuple[str, str]:
        """Return the content type and the text of the answer to the request *said*."""


def _named(schema: Mapping[str, Any] | None) -> set[str]:
    return set((schema or {}).get("properties", {}))


class Gemini(Answers):
    """Source: Gemini API, "generateContent"."""

    def answered(self, model: ScriptedModel, said: JSON) -> tuple[str, str]:
        """Answer in the form of this provider."""
        told = [
            part["functionResponse"]["response"]
            for content in said.get("contents", [])
            for part in content.get("parts", [])
            if "functionResponse" in part
        ]
        parts: list[JSON] = [{"text": "done"}]
        if "tools" in said:
            for tool in said["tools"]:
                for offered in tool.get("functionDeclarations", []):
                    schema = offered.get("parametersJsonSchema") or offered.get("parameters")
                    model.tools[offered["name"]] = _named(schema)
            users = [content for content in said.get("contents", []) if content.get("role") == "user"]
            if step := model.step(told, [part.get("text") for content in users for part in content["parts"]]):
                parts = [{"functionCall": {"name": step[0], "args": step[1]}}]
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        answer = json.dumps({"candidates": [candidate], "usageMetadata": usage})
        streams = "stream" in self.path
        return ("text/event-stream", f"data: {answer}\r\n\r\n") if streams else ("application/json", answer)


class Responses(Answers):
    """Source: OpenAI, "Streaming API responses". A tool of a namespace is `NAMESPACE/TOOL` in a script.

    A tool that takes text in place of JSON has the only argument `input`.
    """

    def answered(self, model: ScriptedModel, said: JSON) -> tuple[str, str]:
        """Answer in the form of this provider."""
        outputs = {"function_call_output", "custom_tool_call_output"}
        told = [str(item["output"]) for item in said["input"] if item.get("type") in outputs]
        for offered in said.get("tools", []):
            for tool in offered.get("tools", [offered]):
                model.tools[tool.get("name") or tool["type"]] = _named(tool.get("parameters"))
        number = len(told)
        item: JSON = {"type": "message", "role": "assistant", "id": "m"}
        item["content"] = [{"type": "output_text", "text": "done"}]
        if step := model.step(told, [each for each in said["input"] if each.get("role") == "user"]):
            full, args = step
            namespace, _, tool = full.rpartition("/")
            kind = "custom_tool_call" if list(args) == ["input"] else "function_call"
            given = args if kind == "custom_tool_call" else {"arguments": json.dumps(args)}
            call = {"type": kind, "id": f"f{number}", "call_id": f"c{number}", "name": tool, **given}
            item = {**call, **({"namespace": namespace} if namespace else {})}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events: list[JSON] = [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "item": item, "output_index": 0},
            {"type": "response.completed", "response": {"id": "r", "usage": usage}},
        ]
        return "text/event-stream", "".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events
        )


class Chat(Answers):
    """Source: OpenAI, "Create chat completion", streamed."""

    def answered(self, model: ScriptedModel, said: JSON) -> tuple[str, str]:
        """Answer in the form of this provider."""
        delta: JSON = {"role": "assistant", "content": "done"}
        end = "stop"
        if "tools" in said:
            told = [str(message["content"]) for message in said["messages"] if message["role"] == "tool"]
            model.tools |= {tool["function"]["name"]: _named(tool["function"]["parameters"]) for tool in said["tools"]}
            number = len(told)
            if step := model.step(told, [message for message in said["messages"] if message["role"] == "user"]):
                name, args = step
                call = {"index": 0, "id": f"c{number}", "type": "function"}
                delta = {
                    "role": "assistant",
                    "tool_calls": [{**call, "function": {"name": name, "arguments": json.dumps(args)}}],
                }
                end = "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        common = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        chunks: list[JSON] = [
            {**common, "choices": [{"index": 0, "delta": delta}]},
            {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage},
        ]
        return "text/event-stream", "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


class Messages(Answers):
    """Source: Anthropic, "Streaming messages"."""

    def answered(self, model: ScriptedModel, said: JSON) -> tuple[str, str]:
        """Answer in the form of this provider."""
        told = [
            json.dumps(part["content"])
            for message in said.get("messages", [])
            for part in message["content"]
            if isinstance(part, dict) and part.get("type") == "tool_result"
        ]
        start: JSON = {"type": "text", "text": ""}
        delta: JSON = {"type": "text_delta", "text": "done"}
        end = "end_turn"
        if said.get("tools"):
            model.tools |= {tool["name"]: _named(tool.get("input_schema")) for tool in said["tools"]}
            users = [message["content"] for message in said["messages"] if message["role"] == "user"]
            texts = [part for content in users for part in ([content] if isinstance(content, str) else content)]
            if step := model.step(told, [part for part in texts if "tool_use_id" not in part]):
                name, args = step
                start = {"type": "tool_use", "id": f"t{len(told)}", "name": name, "input": {}}
                delta, end = {"type": "input_json_delta", "partial_json": json.dumps(args)}, "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [],
            "usage": usage,
        }
        events: list[JSON] = [
            {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": end, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        return "text/event-stream", "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
