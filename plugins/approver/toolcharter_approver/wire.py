"""The wire format: questions, answers, and the signatures of both."""

import hmac
import json
from dataclasses import asdict
from typing import Any, Literal

from toolcharter import ApprovalAnswer, ApprovalRequest

SIGNATURE = "X-Toolcharter-Signature"
"""The header with the signature of a question or an answer: `sha256=` and 64 hexadecimal digits."""
MAX_NAME = 200
"""The longest name of an approver, in characters."""
MAX_MESSAGE = 500
"""How much of a message is shown to the model, in characters."""
_FIELDS = {"digest", "answer", "approver", "message"}
_WORDS: dict[str, Literal["allow_once", "allow_always", "deny"]] = {
    "allow_once": "allow_once",
    "allow_always": "allow_always",
    "deny": "deny",
}


class BadAnswer(Exception):
    """The service's response is not an answer to the question."""


class Signer:
    """Signs with a secret that the service shares.

    The question is signed as well: with a changed question, a person would approve another call than the one shown.
    Answers are signed together with the question's nonce, because a repeated call has the same digest.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign_question(self, body: bytes) -> str:
        """Return the signature of a question, whose body holds the nonce."""
        return self._sign(body)

    def sign_answer(self, nonce: str, body: bytes) -> str:
        """Return the signature of the answer to the question with *nonce*."""
        return self._sign(nonce.encode() + b"." + body)  # No question begins like this.

    def verify_answer(self, signature: str, nonce: str, body: bytes) -> None:
        """Refuse an answer without the right signature.

        Raises:
            BadAnswer: *signature* is for another text, or made with another secret.
        """
        if not hmac.compare_digest(signature.encode(), self.sign_answer(nonce, body).encode()):
            raise BadAnswer("the signature is wrong")

    def _sign(self, content: bytes) -> str:
        return f"sha256={hmac.digest(self._secret, content, 'sha256').hex()}"


def encode_question(request: ApprovalRequest, nonce: str) -> bytes:
    """Return *request* as JSON: all its fields, and *nonce*, which is new in each question."""
    fields = {
        **request._asdict(),
        "args": dict(request.args),
        "workspace": str(request.workspace),
        "caller": asdict(request.caller),
        "nonce": nonce,
    }
    return json.dumps(fields).encode()


def says_nobody_available(body: bytes) -> bool:
    """Return whether *body* says that no person is available."""
    try:
        said: object = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return said == {"error": "nobody"}


def parse_answer(body: bytes, digest: str) -> ApprovalAnswer:
    """Parse an answer: `{"digest": DIGEST, "answer": WORD, "approver": NAME, "message": TEXT}`, the last two if known.

    Raises:
        BadAnswer: The body is not such an object, or is about another call.
        ValueError: The body is not JSON.
    """
    answer = json.loads(body, object_pairs_hook=_unique_keys)
    if not isinstance(answer, dict) or answer.keys() - _FIELDS:
        raise BadAnswer("the answer is not an object, or has an unknown field")
    if answer.get("digest") != digest:
        raise BadAnswer("the answer is about another call")
    word, approver, message = answer.get("answer"), answer.get("approver"), answer.get("message")
    if not isinstance(word, str) or word not in _WORDS:
        raise BadAnswer("the answer's word is not one of the three")
    if approver is not None and not _is_name(approver):
        raise BadAnswer("the approver's name is not valid")
    if not isinstance(message, str | None):
        raise BadAnswer("the message is not text")
    return ApprovalAnswer(_WORDS[word], approver, None if message is None else _clean_message(message))


def _is_name(given: object) -> bool:
    return isinstance(given, str) and 0 < len(given) <= MAX_NAME and given.isprintable()


def _clean_message(message: str) -> str | None:
    text = " ".join(message.split())
    return (text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} ...") or None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise BadAnswer("a field is given twice")
    return fields
