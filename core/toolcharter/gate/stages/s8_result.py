"""Stage 8: the result of an ended call, scrubbed of secrets, then truncated to its limit."""

from time import monotonic
from typing import TYPE_CHECKING, Literal, NamedTuple

import orjson

from toolcharter._lazy import lazy
from toolcharter.api.call import ToolResult
from toolcharter.api.reasons import RETRYABLE
from toolcharter.gate.call import CallContext
from toolcharter.gate.redact import mask_secrets, redact_text
from toolcharter.guards.output import parse_structured, truncate
from toolcharter.guards.secrets import scrub_json

if TYPE_CHECKING:
    from toolcharter.guards.secrets import echoes
else:
    echoes = lazy("toolcharter.guards.secrets.echoes")

Strategy = Literal["head", "tail", "both"]


class OutputLimit(NamedTuple):
    """How much of a result the model gets."""

    max_chars: int | None = None
    strategy: Strategy = "head"


class ResultBuilder(NamedTuple):
    """Makes the results of one tool's calls."""

    limit: OutputLimit = OutputLimit()
    parse_output: bool = False
    """Whether to fill `data` from the text, if the text is JSON."""

    def build(self, ctx: CallContext) -> ToolResult:
        """Build the result that the caller of *ctx* gets.

        Raises:
            Exception: The tool has recorded data that JSON cannot represent.
        """
        text, masked_in_text = mask_secrets(ctx.text)
        redactions = masked_in_text
        data, message, user_text = ctx.data, ctx.message, ctx.user_text
        if self.parse_output and ctx.outcome == "ok" and data is None:
            data = parse_structured(text)
        if data is not None:
            raw, found = scrub_json(orjson.dumps(data))  # raises if *data* cannot be JSON
            redactions += found
            data = orjson.loads(raw)  # JSON types only, and no object that the tool still holds
            if masked_in_text:
                # Mask in the data what was masked in the text, too.
                data, found = echoes.mask_lines(data, echoes.masked_lines(str(ctx.text)))
                redactions += found
        if message is not None:
            message = text if message == ctx.text else mask_secrets(message)[0]
        if user_text is not None:
            user_text, found = mask_secrets(user_text)
            redactions += found
        truncated = ctx.truncated
        if self.limit.max_chars is not None:
            text, is_cut = self._truncate(text, ctx)
            truncated = truncated or is_cut
            message = message and self._truncate(message, ctx)[0]
            user_text = user_text and self._truncate(user_text, ctx)[0]
        hint = ctx.hint
        if hint is not None:
            hint = redact_text(hint)
            if hint and ctx.outcome != "ok":
                text = self._append_hint(text, hint)
        return ToolResult(
            ctx.outcome or "error",
            text,
            user_text,
            data,
            ctx.reason,
            message,
            hint,
            bool(ctx.retryable) or (ctx.reason in RETRYABLE and not ctx.is_final),
            ctx.exit_code if isinstance(ctx.exit_code, int) else None,
            truncated,
            redactions,
            ctx.call_id,
            round((monotonic() - ctx.started) * 1000, 2),
        )

    def _truncate(self, text: str, ctx: CallContext) -> tuple[str, bool]:
        """Truncate *text* to the limit. The first line of a denial, which names its reason, stays whole."""
        limit = self.limit.max_chars or 0
        if ctx.outcome == "denied" and text == ctx.text:
            limit = max(limit, text.find("\n") if "\n" in text else len(text))
        return truncate(text, limit, self.limit.strategy) if len(text) > limit else (text, False)

    def _append_hint(self, text: str, hint: str) -> str:
        """Append *hint* to *text*, if the limit leaves room for it."""
        line = f"\nHint: {hint}"
        limit = self.limit.max_chars
        # If the tool passes on the result of another call, the text has the hint already.
        has_room = limit is None or len(text) + len(line) <= limit
        return text + line if has_room and not text.endswith(line) else text
