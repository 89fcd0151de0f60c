"""Ask Gemini about files, or let it make files. The result has a row for each. Keys come only from the environment.

    python gemini_batch_process.py --task analyze --files image.png

Needs google-genai, and pillow, which converts other pictures to PNG. The content decides the kind of a file, not its
name. Source: the Gemini API, "Image understanding", "Audio understanding", "Files API", "Generate images using
Imagen", "Generate videos with Veo".
"""

import argparse
import csv
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

try:
    from google import genai
    from google.genai import errors, types
    from PIL import Image, UnidentifiedImageError
except ImportError as error:
    sys.exit(f"{error.name} is missing: pip install 'google-genai>=1.60,<2' pillow")

INLINE_BYTES = 15_000_000
"""Larger files are uploaded first; a request may have 20 MB."""
MAX_BYTES = 2_000_000_000
"""The largest file that the Files API accepts."""
MAX_PIXELS = 100_000_000
TIMEOUT_MS = 300_000
WAIT_S = float(os.environ.get("GEMINI_POLL_SECONDS", "5"))
"""The interval between two polls of an upload or a video."""
LONGEST_S = 900.0
ANOTHER_KEY = frozenset({401, 403, 429})
"""The statuses for a key that is refused or used up."""
MODELS = {
    "analyze": "gemini-2.5-flash",
    "transcribe": "gemini-2.5-flash",
    "extract": "gemini-2.5-flash",
    "generate": "imagen-4.0-generate-001",
    "generate-video": "veo-3.0-generate-001",
}
PROMPTS = {
    "analyze": "Describe what is to be seen or heard here.",
    "transcribe": "Write down what is said, word for word, with the time of each passage as MM:SS.",
    "extract": "Write down all text that is to be read here, in its order, and nothing else.",
}
KINDS: dict[str, tuple[str, ...]] = {
    "analyze": ("image", "video", "audio", "application"),
    "transcribe": ("video", "audio"),
    "extract": ("image", "video", "application"),
}
"""The kinds of files that each task accepts."""
_BEGINNINGS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3", "audio/mp3"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"FORM", "audio/aiff"),
    (0, b"\x00\x00\x01\xba", "video/mpeg"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/avi"),
)
_BRANDS = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"qt  ": "video/mov",
    b"M4A ": "audio/mp4",
}
_MPEG = {0xFFE: "audio/mp3", 0xFF0: "audio/aac"}
T = TypeVar("T")


class Failed(Exception):
    """One file or prompt has no result; the text says why, in our own words."""


@dataclass
class Row:
    """The result for one file or prompt."""

    source: str
    kind: str = ""
    status: str = "ok"
    text: str = ""
    files: list[str] = field(default_factory=list)
    error: str = ""


def kind_of(head: bytes) -> str:
    """Return the MIME type of a file that begins with *head*; empty if Gemini does not read such files."""
    for at, beginning, kind in _BEGINNINGS:
        if head[at : at + len(beginning)] == beginning:
            return kind
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    first = int.from_bytes(head[:2], "big") >> 4
    layer = head[1] >> 1 & 3 if len(head) > 1 else 0
    return _MPEG[0xFFE if layer else 0xFF0] if first in {0xFFE, 0xFFF} else ""


def read(path: Path, task: str) -> tuple[str, bytes | None]:
    """Return the MIME type of a file, and its content; None instead of a content that has to be uploaded.

    Raises:
        Failed: The file cannot be read, or the task does not accept it.
    """
    try:
        with path.open("rb") as file:
            size, head = os.fstat(file.fileno()).st_size, file.read(64)
            content = head + file.read(INLINE_BYTES) if size <= INLINE_BYTES else None
    except OSError as error:
        raise Failed(f"it cannot be read: {error.strerror}") from error
    kind = kind_of(head)
    if not kind and content:
        kind, content = "image/png", as_png(content)
    if kind.split("/")[0] not in KINDS[task]:
        raise Failed(f"it is {kind or 'of no known kind'}, which {task} does not take")
    if size > MAX_BYTES:
        raise Failed(f"it has more than {MAX_BYTES} bytes")
    return kind, content


def as_png(content: bytes) -> bytes:
    """Convert a picture of another kind, such as GIF, BMP or TIFF, to PNG.

    Raises:
        Failed: *content* is not a picture, or is too large.
    """
    try:
        with Image.open(io.BytesIO(content)) as picture:
            if picture.width * picture.height > MAX_PIXELS:
                raise Failed("it has too many pixels")
            made = io.BytesIO()
            picture.convert("RGB").save(made, "PNG")
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
        raise Failed("it is of no known kind") from error
    return made.getvalue()


class Keys:
    """The keys. If a key is refused or used up, all further requests use the next key."""

    def __init__(self) -> None:
        names = ["GEMINI_API_KEY", *(f"GEMINI_API_KEY_{number}" for number in range(2, 10))]
        self._left = [key for name in names if (key := os.environ.get(name, "").strip())]
        if not self._left:
            sys.exit("There is no key: set GEMINI_API_KEY.")

    def use(self, work: Callable[[Any], T]) -> T:
        """Return the result of *work* with the first key that is accepted.

        Raises:
            Failed: The API refuses the request or cannot be reached, or all keys are used up.
        """
        said = "all keys are refused or used up"
        while self._left:
            once = types.HttpRetryOptions(attempts=1)
            client = genai.Client(
                api_key=self._left[0], http_options=types.HttpOptions(timeout=TIMEOUT_MS, retry_options=once)
            )
            try:
                return work(client)
            except errors.APIError as error:
                is_key = error.code in ANOTHER_KEY or "API_KEY_INVALID" in str(error.details)
                if not is_key:
                    raise Failed(f"the API answered {error.code} {error.status or ''}".strip()) from error
                said = f"all keys are refused or used up (the last answer was {error.code})"
                self._left.pop(0)
            except Failed:
                raise
            except Exception as error:  # whichever library fails below the client
                raise Failed(f"the API cannot be reached or read: {type(error).__name__}") from error
        raise Failed(said)


def ask(client: Any, model: str, prompt: str, path: Path, kind: str, content: bytes | None) -> str:
    """Ask the model about a file, and return its answer."""
    part = types.Part.from_bytes(data=content, mime_type=kind) if content else uploaded(client, path, kind)
    answer = client.models.generate_content(model=model, contents=[part, prompt])
    text: str = answer.text or ""
    if not text.strip():
        raise Failed("the model said nothing")
    return text


def uploaded(client: Any, path: Path, kind: str) -> Any:
    """Upload a file, and wait until the API can use it."""
    file = client.files.upload(file=path, config=types.UploadFileConfig(mime_type=kind))
    for _ in waiting():
        if file.state != types.FileState.PROCESSING:
            break
        file = client.files.get(name=file.name)
    if file.state == types.FileState.FAILED:
        raise Failed("the API cannot process the file")
    return file


def waiting() -> Iterator[None]:
    """Yield repeatedly, with a wait in between.

    Raises:
        Failed: `LONGEST_S` is over.
    """
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        yield
        time.sleep(WAIT_S)
    raise Failed("it takes too long")


def pictures(client: Any, model: str, prompt: str, given: argparse.Namespace) -> list[bytes]:
    """Make pictures with Imagen or a Gemini model."""
    if not model.startswith("imagen"):
        shape = types.ImageConfig(aspect_ratio=given.aspect_ratio)
        settings = types.GenerateContentConfig(response_modalities=["IMAGE"], image_config=shape)
        said = client.models.generate_content(model=model, contents=prompt, config=settings)
        return [part.inline_data.data for part in said.parts or () if part.inline_data and part.inline_data.data]
    config = types.GenerateImagesConfig(number_of_images=given.count, aspect_ratio=given.aspect_ratio)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning says that Google will end Imagen; until then it works
        answer = client.models.generate_images(model=model, prompt=prompt, config=config)
    return [one.image.image_bytes for one in answer.generated_images or () if one.image and one.image.image_bytes]


def videos(client: Any, model: str, prompt: str, given: argparse.Namespace) -> list[bytes]:
    """Make videos with Veo."""
    config = types.GenerateVideosConfig(aspect_ratio=given.aspect_ratio)
    task = client.models.generate_videos(model=model, prompt=prompt, config=config)
    for _ in waiting():
        if task.done:
            break
        task = client.operations.get(task)
    made = task.response.generated_videos if task.response else None
    return [one.video.video_bytes or client.files.download(file=one.video) for one in made or ()]


def keep(contents: Sequence[bytes], wanted: str, folder: Path, stem: str) -> list[str]:
    """Write the results to new files, and return the paths; no file is overwritten.

    Raises:
        Failed: There are no results, a result is not of the *wanted* kind, or a file cannot be written.
    """
    names = list[str]()
    for number, content in enumerate(contents, start=1):
        kind = kind_of(content[:64])
        if not kind.startswith(wanted):
            raise Failed(f"what came is no {wanted}")
        path = folder / f"{stem}-{number}.{kind.split('/')[1].replace('jpeg', 'jpg')}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
        except OSError as error:
            raise Failed(f"{path} cannot be written: {error.strerror}") from error
        names.append(str(path))
    if not names:
        raise Failed("nothing was made; the prompt may be one that the model refuses")
    return names


def about_files(given: argparse.Namespace, keys: Keys) -> Iterator[Row]:
    """Yield a row for each file."""
    prompt = " ".join(given.prompt) or PROMPTS[given.task]
    for name in given.files:
        row = Row(name)
        try:
            row.kind, content = read(Path(name), given.task)
            row.text = keys.use(
                partial(ask, model=given.model, prompt=prompt, path=Path(name), kind=row.kind, content=content)
            )
        except Failed as error:
            row.status, row.error = "failed", str(error)
        yield row


def made_of_prompts(given: argparse.Namespace, keys: Keys) -> Iterator[Row]:
    """Yield a row for each prompt."""
    make, wanted = (videos, "video") if given.task == "generate-video" else (pictures, "image")
    begun = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    for number, prompt in enumerate(given.prompt, start=1):
        row = Row(prompt, kind=wanted)
        try:
            contents = keys.use(partial(make, model=given.model, prompt=prompt, given=given))
            row.files = keep(contents, wanted, given.folder, f"{given.task}-{begun}-{token_hex(3)}-{number}")
        except Failed as error:
            row.status, row.error = "failed", str(error)
        yield row


def shown(rows: Sequence[Row], form: str) -> str:
    """Format *rows* as JSON, CSV or Markdown."""
    if form == "json":
        return json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2) + "\n"
    if form == "csv":
        written = io.StringIO()
        table = csv.writer(written)
        table.writerow(asdict(rows[0]))
        table.writerows([cell(value) for value in asdict(row).values()] for row in rows)
        return written.getvalue()
    return "\n".join(
        f"## {row.source}\n\n{row.text or row.error}\n{''.join(f'{chr(10)}- {one}' for one in row.files)}"
        for row in rows
    )


def cell(value: Any) -> str:
    """Format *value* for CSV: a quote is put before a text that spreadsheets would read as a formula."""
    text = " ".join(value) if isinstance(value, list) else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def read_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; exit if it is wrong."""
    parser = argparse.ArgumentParser(description="Ask Gemini about files, or have it make some.")
    parser.add_argument("--task", choices=sorted(MODELS), required=True)
    parser.add_argument("--files", nargs="+", default=[])
    parser.add_argument("--prompt", action="append", default=[])
    parser.add_argument("--model", default="")
    parser.add_argument("--aspect-ratio", choices=["1:1", "3:4", "4:3", "9:16", "16:9"])
    parser.add_argument("--count", type=int, choices=range(1, 5), default=1)
    parser.add_argument("--folder", type=Path, default=Path("media"))
    parser.add_argument("--format", choices=["json", "csv", "markdown"], default="json")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args(words)
    given.model = given.model or MODELS[given.task]
    if given.task in PROMPTS and not given.files:
        parser.error(f"{given.task} needs --files")
    if given.task not in PROMPTS and (given.files or not given.prompt):
        parser.error(f"{given.task} needs --prompt and no --files")
    return given


def main(words: Sequence[str] | None = None) -> int:
    """Run the program, and return its exit status."""
    given = read_arguments(words)
    work = about_files if given.task in PROMPTS else made_of_prompts
    rows = list(work(given, Keys()))
    text = shown(rows, given.format)
    if given.output:
        given.output.write_text(text)
    else:
        sys.stdout.write(text)
    return 1 if any(row.status != "ok" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
