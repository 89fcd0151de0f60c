"""The tool `tts`: makes speech from a text, as an MP3 file in the workspace."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import quote

from toolcharter import Denied, ToolError, ToolRuntime, ToolSpec
from toolcharter_media import edge, providers
from toolcharter_media.kinds import Speech, parse_speech
from toolcharter_media.policy import MediaReason, SpeechPolicy, SpeechProvider, SpeechReason
from toolcharter_media.providers import Failure, ProviderProtocol, Request
from toolcharter_media.spending import SessionBudget

TOOL = "tts"
TOO_LONG = "speech_too_long"


class SpeechData(TypedDict):
    """The structured result."""

    path: str
    provider: str
    model: str
    voice: str
    mime_type: str
    bytes: int
    seconds: float
    cost: float
    failed: list[Failure]
    """The providers that were asked before and failed, with the reasons."""


class SpeechRequest(TypedDict):
    """What a call asks for."""

    text: str
    voice: str
    model: str


def build(workspace: Path, policy: SpeechPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Make the tool for one policy."""

    def tts(text: str, voice: str = "", model: str = "", provider: str = "") -> str:
        """Speak a text: make an MP3 file in the workspace, whose path follows `MEDIA:` in the result.

        Args:
            text: The text to speak.
            voice: A voice of the provider; by default the profile's.
            model: A model of the provider; by default the profile's.
            provider: The provider to ask first; by default the profile's first. If it fails, others are asked.
        """
        ctx = rt.start(TOOL, voice=voice, model=model, provider=provider)
        order = providers.order_providers(policy.providers, provider)
        providers.require_text(text, policy)
        request = SpeechRequest(text=text, voice=voice, model=model)
        _require_permitted(order, request)
        budget, name = SessionBudget(rt, TOOL, policy), providers.new_file_name(policy, TOOL)
        budget.require_left(min(one.price(len(text)) for one in order))
        providers.require_writable(rt, name, "mp3")
        ctx.policy_passed()
        budget.charge_call()
        protocol = ProviderProtocol(partial(_ask, rt, policy, request), _content, partial(_check_speech, policy))
        made = providers.ask_in_order(rt, policy, budget, order, len(text), protocol)
        path = providers.write_file(rt, name, made.kind.suffix, made.content)
        data = SpeechData(
            path=path,
            provider=made.provider.name,
            model=_model(made.provider, request),
            voice=_voice(made.provider, request),
            mime_type=made.kind.mime_type,
            bytes=len(made.content),
            seconds=made.kind.seconds,
            cost=made.cost,
            failed=made.failures,
        )
        return ctx.ok(_result_text(data, len(text)), data=data)

    return tts


def _require_permitted(order: Sequence[SpeechProvider], request: SpeechRequest) -> None:
    """Refuse a model or voice that the first provider may not use. Other providers fall back to their own.

    Raises:
        Denied: `model_not_allowed`, `voice_not_allowed`.
    """
    first = order[0]
    if first.model_for(request["model"]) is None:
        raise Denied(SpeechReason.MODEL_NOT_ALLOWED, f"The profile does not let {first.name} use that model.")
    if first.voice_for(request["voice"]) is None:
        raise Denied(SpeechReason.VOICE_NOT_ALLOWED, f"The profile does not let {first.name} use that voice.")


def _model(provider: SpeechProvider, request: SpeechRequest) -> str:
    return provider.model_for(request["model"]) or provider.model or provider.known.model


def _voice(provider: SpeechProvider, request: SpeechRequest) -> str:
    return provider.voice_for(request["voice"]) or provider.voice or provider.known.voice


def _ask(
    rt: ToolRuntime, policy: SpeechPolicy, request: SpeechRequest, provider: SpeechProvider, key: str, timeout_s: float
) -> bytes:
    if provider.name == "edge":
        return edge.speak(rt, policy, provider, request["text"], _voice(provider, request), timeout_s)
    return providers.post_json(rt, policy, partial(_request, request), provider, key, timeout_s)


def _request(request: SpeechRequest, provider: SpeechProvider, key: str) -> Request:
    """Make the request to the provider.

    Source: OpenAI, "Create speech"; ElevenLabs, "Create speech"; MiniMax, "T2A v2".
    """
    model, voice, text = _model(provider, request), _voice(provider, request), request["text"]
    body: dict[str, Any]
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    if provider.name == "openai":
        body = {"model": model, "voice": voice, "input": text, "response_format": "mp3"}
        return Request("/audio/speech", body, bearer)
    if provider.name == "elevenlabs":
        path = f"/text-to-speech/{quote(voice, safe='')}?output_format=mp3_44100_128"
        return Request(path, {"text": text, "model_id": model}, {"xi-api-key": key} if key else {})
    sound = {"format": "mp3", "sample_rate": 32_000, "bitrate": 128_000, "channel": 1}
    voiced = {"voice_id": voice, "speed": 1, "vol": 1, "pitch": 0}
    body = {"model": model, "text": text, "stream": False, "voice_setting": voiced, "audio_setting": sound}
    return Request("/t2a_v2", body, bearer, growth=2.0)  # the file is in hexadecimal


def _content(provider: SpeechProvider, body: bytes) -> bytes:
    return bytes.fromhex(json.loads(body)["data"]["audio"]) if provider.name == "minimax" else body


def _check_speech(policy: SpeechPolicy, content: bytes) -> Speech:
    found = parse_speech(content)
    if found.seconds > policy.max_seconds:
        what = f"The speech lasts {found.seconds:g} s; {policy.max_seconds:g} s are allowed."
        raise ToolError(what, reason=TOO_LONG)
    return found


def _result_text(data: SpeechData, chars: int) -> str:
    text = f"Spoke {chars} characters with {data['provider']}: {data['seconds']:g} s, {data['bytes']} bytes."
    others = f"\nOther providers failed before: {providers.format_failures(data['failed'])}." if data["failed"] else ""
    return f"{text}{others}\n{providers.format_media_line(data['path'])}"


SPEC = ToolSpec(
    TOOL,
    SpeechPolicy,
    build,
    reasons=[*MediaReason, *SpeechReason],
    capabilities={"fs:write", "net:write"},
    safety="medium",
    staged=True,
    isolate=True,  # a provider may be slow, and must not block asynchronous callers
    group="media",
    output=SpeechData,
)
