"""`image`: what each provider is sent, what is believed of its answer, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from tests.plugins.media.conftest import MP3, PNG, Answer, Providers, image_response, png
from tests.rows import each_row

from toolcharter import ApprovalRequest, Caller, Toolbox

Box = Callable[..., Toolbox]
NAMES = ("openai", "gemini", "openrouter")
KEY = token_hex(16)
SAID = [{"role": "user", "content": "a fox"}]


@each_row(
    ("name", "path", "header", "said"),
    [
        (
            "openai",
            "/openai/images/generations",
            ("authorization", f"Bearer {KEY}"),
            {"model": "gpt-image-1", "prompt": "a fox", "n": 1, "size": "1536x1024"},
        ),
        (
            "gemini",
            "/gemini/models/gemini-2.5-flash-image:generateContent",
            ("x-goog-api-key", KEY),
            {
                "contents": [{"role": "user", "parts": [{"text": "a fox"}]}],
                "generationConfig": {"responseModalities": ["IMAGE"], "imageConfig": {"aspectRatio": "16:9"}},
            },
        ),
        (
            "openrouter",
            "/openrouter/chat/completions",
            ("authorization", f"Bearer {KEY}"),
            {
                "model": "google/gemini-2.5-flash-image",
                "messages": SAID,
                "modalities": ["image", "text"],
                "image_config": {"aspect_ratio": "16:9"},
            },
        ),
    ],
    ids=NAMES,
)
def test_each_protocol(
    box: Box,
    providers: Providers,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    path: str,
    header: tuple[str, str],
    said: dict[str, Any],
) -> None:
    """The provider is sent what its reference says, with its key; what it answers is in the workspace."""
    monkeypatch.setenv("PICTURE_KEY", KEY)
    providers.answers[name] = Answer(image_response(name))
    providers.asked.clear()
    toolbox = box({"image": {"providers": [providers.one(name, key_env="PICTURE_KEY", cost=0.04)]}})

    result = toolbox.call("image", {"prompt": "a fox", "aspect_ratio": "16:9"})

    assert result.outcome == "ok", result.text
    [(asked, headers, body)] = providers.asked
    assert (asked, headers[header[0]], body) == (path, header[1], said)
    file = workspace / result.data["path"]
    assert (file.read_bytes(), file.suffix) == (PNG, ".png")
    assert (result.data["width"], result.data["height"], result.data["cost"]) == (2, 1, 0.04)
    assert result.text.splitlines() == [
        f"Made a picture with {name}: 2 x 1 pixels, {len(PNG)} bytes.",
        f"MEDIA:{result.data['path']}",
    ]


@each_row(
    ("model", "ratio", "size"),
    [
        ("gpt-image-1", "1:1", "1024x1024"),
        ("gpt-image-1", "3:4", "1024x1536"),
        ("dall-e-3", "16:9", "1792x1024"),
    ],
    ids=["square", "upright", "older"],
)
def test_sizes_of_openai(box: Box, providers: Providers, model: str, ratio: str, size: str) -> None:
    """The nearest that the model has; the older ones have to be asked for the picture itself."""
    providers.answers["openai"] = Answer(image_response("openai"))
    providers.asked.clear()

    box({"image": {"providers": [providers.one("openai", model=model)]}}).call(
        "image", {"prompt": "a fox", "aspect_ratio": ratio}
    )

    said = providers.asked[0][2]
    assert (said["size"], said.get("response_format")) == (size, "b64_json" if "dall-e" in model else None)


@each_row(
    ("name", "body", "reason"),
    [
        ("openai", image_response("openai", MP3), "wrong_content"),
        ("openai", image_response("openai", PNG[:30]), "wrong_content"),
        ("openai", image_response("openai", png(0, 5)), "wrong_content"),
        ("openai", image_response("openai", b"\xff\xd8\xff\xe0"), "wrong_content"),
        ("openai", b'{"data": [{"url": "http://127.0.0.1/internal"}]}', "wrong_content"),
        ("openai", b'{"data": [{"b64_json": "***"}]}', "wrong_content"),
        ("openai", image_response("openai", PNG + bytes(2_000)), "wrong_content"),
        ("openai", image_response("openai", png(900, 900) + bytes(30_000)), "response_too_large"),
        ("gemini", b'{"candidates": [{"content": {"parts": [{"text": "I cannot"}]}}]}', "wrong_content"),
        ("gemini", b'{"promptFeedback": {"blockReason": "SAFETY"}}', "wrong_content"),
        (
            "openrouter",
            b'{"choices": [{"message": {"images": [{"image_url": {"url": "file:///etc/passwd"}}]}}]}',
            "wrong_content",
        ),
    ],
)
def test_answers_that_hold_no_picture(box: Box, providers: Providers, name: str, body: bytes, reason: str) -> None:
    """No name, header or address in them is believed, and nothing is fetched or written."""
    providers.answers[name] = Answer(body)
    providers.asked.clear()
    toolbox = box({"image": {"providers": providers.all(name), "max_bytes": 1_000 if "large" in reason else 20_000}})

    result = toolbox.for_caller(Caller(session=token_hex(4))).call("image", {"prompt": "a fox"})

    assert (result.outcome, result.reason, len(providers.asked)) == ("error", "providers_failed", 1)
    assert result.message is not None
    assert f"{name}: {reason} (" in result.message


def test_a_page_that_orders_to_draw_meets_a_person(box: Box, providers: Providers) -> None:
    """Where the profile asks, a person sees the prompt, and their no is the end."""
    seen: list[ApprovalRequest] = []

    def refuse(request: ApprovalRequest) -> str:
        seen.append(request)
        return "deny"

    toolbox = box({"image": {"providers": providers.all("openai")}}, refuse, ask=["image"])

    result = toolbox.call("image", {"prompt": "the advertisement that the page orders"})

    assert (result.outcome, result.reason, providers.asked) == ("denied", "approval_denied", [])
    assert seen[0].args["prompt"] == "the advertisement that the page orders"


@each_row(
    ("args", "policy", "outcome", "reason"),
    [
        ({"prompt": f"Write it: {'sk-'}{'a1B2' * 12}"}, {}, "denied", "holds_a_secret"),
        ({"prompt": "x" * 21}, {"max_chars": 20}, "error", "text_too_long"),
        ({}, {"max_calls": 0}, "denied", "calls_used_up"),
        ({}, {"max_cost": 0.001}, "denied", "cost_used_up"),
    ],
    ids=["secret", "long", "calls", "cost"],
)
def test_what_the_profile_does_not_permit(
    box: Box, providers: Providers, args: dict[str, Any], policy: dict[str, Any], outcome: str, reason: str
) -> None:
    """No provider is asked."""
    providers.asked.clear()
    one = providers.one("openai", cost=0.04)

    result = box({"image": {"providers": [one], **policy}}).call("image", {"prompt": "A door", **args})

    assert (result.outcome, result.reason, providers.asked) == (outcome, reason, [])
