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
"""The prompt of a subagent. A model that reads it follows the script `ScriptedModel.subagent_script`."""
SPAWNED_ID = "@SPAWNED@"
"""A placeholder in an argument for the identifier of the subagent that was started before."""


class ScriptedModel(ThreadingHTTPServer):
    """A server with a script of calls, which records what the client sends."""

    daemon_threads = True

    def __init__(
        self, handler: "type[AnswerHandler]", script: list[Step], subagent_script: Sequence[Step] = ()
    ) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.script = script
        self.subagent_script = subagent_script
        self.results: list[Any] = []
        """The results of the calls that the client has sent to the model."""
        self.subagent_results: list[Any] = []
        """The results of a subagent's calls."""
        self.tools: dict[str, set[str]] = {}
        """The tools that the client offers, with the names of their arguments."""

    def next_call(self, results: list[Any], prompts: object) -> Step | None:
        """Return the next call, or None after the last.

        Args:
            results: The results of the conversation's calls so far.
            prompts: The user's prompts in the conversation.
        """
        is_subagent = SUBAGENT in json.dumps(prompts)
        if is_subagent:
            self.subagent_results = results
        else:
            self.results = results
        script = self.subagent_script if is_subagent else self.script
        if len(results) >= len(script):
            return None
        name, args = script[len(results)]
        found = re.search(r'"agent_id\W+([\w-]+)', json.dumps(results))
        return name, json.loads(json.dumps(args).replace(SPAWNED_ID, found[1] if found else ""))

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


class AnswerHandler(BaseHTTPRequestHandler, ABC):
    """One request of the client."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Log nothing."""

    def do_POST(self) -> None:
        """Answer a request according to the script."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)))
        kind, text = self.build_answer(cast("ScriptedModel", self.server), request)
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @abstractmethod
    def build_answer(self, model: ScriptedModel, request: JSON) -> tuple[str, str]:
        """Return the content type and the text of the answer to *request*."""


def _property_names(schema: Mapping[str, Any] | None) -> set[str]:
    return set((schema or {}).get("properties", {}))


class Gemini(AnswerHandler):
    """Source: Gemini API, "generateContent"."""

    def build_answer(self, model: ScriptedModel, request: JSON) -> tuple[str, str]:
        """Answer in the form of this provider."""
        results = [
            part["functionResponse"]["response"]
            for content in request.get("contents", [])
            for part in content.get("parts", [])
            if "functionResponse" in part
        ]
        parts: list[JSON] = [{"text": "done"}]
        if "tools" in request:
            for tool in request["tools"]:
                for offered in tool.get("functionDeclarations", []):
                    schema = offered.get("parametersJsonSchema") or offered.get("parameters")
                    model.tools[offered["name"]] = _property_names(schema)
            users = [content for content in request.get("contents", []) if content.get("role") == "user"]
            if step := model.next_call(results, [part.get("text") for content in users for part in content["parts"]]):
                parts = [{"functionCall": {"name": step[0], "args": step[1]}}]
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        answer = json.dumps({"candidates": [candidate], "usageMetadata": usage})
        streams = "stream" in self.path
        return ("text/event-stream", f"data: {answer}\r\n\r\n") if streams else ("application/json", answer)


class Responses(AnswerHandler):
    """Source: OpenAI, "Streaming API responses". A tool of a namespace is `NAMESPACE/TOOL` in a script.

    A tool that takes text in place of JSON has the only argument `input`.
    """

    def build_answer(self, model: ScriptedModel, request: JSON) -> tuple[str, str]:
        """Answer in the form of this provider."""
        outputs = {"function_call_output", "custom_tool_call_output"}
        results = [str(item["output"]) for item in request["input"] if item.get("type") in outputs]
        for offered in request.get("tools", []):
            for tool in offered.get("tools", [offered]):
                model.tools[tool.get("name") or tool["type"]] = _property_names(tool.get("parameters"))
        number = len(results)
        item: JSON = {"type": "message", "role": "assistant", "id": "m"}
        item["content"] = [{"type": "output_text", "text": "done"}]
        if step := model.next_call(results, [each for each in request["input"] if each.get("role") == "user"]):
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


class Chat(AnswerHandler):
    """Source: OpenAI, "Create chat completion", streamed."""

    def build_answer(self, model: ScriptedModel, request: JSON) -> tuple[str, str]:
        """Answer in the form of this provider."""
        delta: JSON = {"role": "assistant", "content": "done"}
        end = "stop"
        if "tools" in request:
            results = [str(message["content"]) for message in request["messages"] if message["role"] == "tool"]
            model.tools |= {
                tool["function"]["name"]: _property_names(tool["function"]["parameters"]) for tool in request["tools"]
            }
            number = len(results)
            if step := model.next_call(
                results, [message for message in request["messages"] if message["role"] == "user"]
            ):
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


class Messages(AnswerHandler):
    """Source: Anthropic, "Streaming messages"."""

    def build_answer(self, model: ScriptedModel, request: JSON) -> tuple[str, str]:
        """Answer in the form of this provider."""
        results = [
            json.dumps(part["content"])
            for message in request.get("messages", [])
            for part in message["content"]
            if isinstance(part, dict) and part.get("type") == "tool_result"
        ]
        start: JSON = {"type": "text", "text": ""}
        delta: JSON = {"type": "text_delta", "text": "done"}
        end = "end_turn"
        if request.get("tools"):
            model.tools |= {tool["name"]: _property_names(tool.get("input_schema")) for tool in request["tools"]}
            users = [message["content"] for message in request["messages"] if message["role"] == "user"]
            texts = [part for content in users for part in ([content] if isinstance(content, str) else content)]
            if step := model.next_call(results, [part for part in texts if "tool_use_id" not in part]):
                name, args = step
                start = {"type": "tool_use", "id": f"t{len(results)}", "name": name, "input": {}}
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
