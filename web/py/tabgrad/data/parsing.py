"""A file of training data: which kind it is, and the documents in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tabgrad.data.documents import BadLine, Chat, Kind, Parsed, Text
from tabgrad.data.lines import Unusable, read_document, read_object
from tabgrad.errors import DataError
from tabgrad.text.corpus import Corpus

MAX_BYTES = 256 << 20
MAX_LINES = 2_000_000
SHOWN_BAD_LINES = 1000
_PROBED = 20
# Only what no text begins with.
_MAGIC = {b"\x89PNG": "a PNG picture", b"\xff\xd8\xff": "a JPEG picture",
          b"GIF89a": "a GIF picture", b"%PDF-": "a PDF",
          b"PK\x03\x04": "a zip archive (as .docx, .xlsx and .epub are)",
          b"\x1f\x8b": "a gzip archive", b"\x7fELF": "a program",
          b"\xd0\xcf\x11\xe0": "an old Office document", b"SQLite format 3\0": "a database"}


def parse(name: str, data: bytes) -> Parsed:
    r"""Reads a file of training data, whose kind is found by its content.

    It is JSONL where most of the first 20 lines are JSON objects, one at least with a "text" or
    "messages"; else it is plain text. The first line that can be used says whether a JSONL file
    holds texts or chats. Empty lines of JSONL count for nothing.

    Args:
        name: of the file, for what is said about it.
        data: its bytes.

    Returns:
        Documents, and the lines that cannot be used, with their reasons.

    Raises:
        DataError: not text, too large, a JSON array, or not one line can be used.

    Example:
        >>> lines = b'{"text": "One."}\n{"txt": "Two."}\n{"text": "Three."}\n'
        >>> parsed = parse("notes.jsonl", lines)
        >>> parsed.kind, len(parsed.documents), parsed.bad_lines
        ('texts', 2, (BadLine(line=2, reason='no "text" and no "messages"'),))
        >>> parse("poem.txt", b"Tyger Tyger, burning bright").kind
        'text'
    """
    _check_size(data)
    _check_magic(data)
    text = Corpus.from_bytes(name, data).data.tobytes()     # UTF-8, without a byte order mark
    if not text.strip():
        raise DataError("This file is empty.", control="corpus",
                        remedy="Choose one with some text in it.")
    zero = text.find(0)
    if zero >= 0:
        raise DataError("This file is not plain text.", control="corpus", expected="UTF-8 text",
                        received=f"a zero byte at position {zero:,}",
                        remedy="Save it as a plain text file in UTF-8 and choose it again.")
    if _is_jsonl(text):
        return _parse_lines(name, text)
    _refuse_array(text)
    return Parsed(name, "text", (Text(1, text.decode("utf-8")),))


def _parse_lines(name: str, text: bytes) -> Parsed:
    if text.count(b"\n") > MAX_LINES:
        raise DataError("This file has too many lines.", expected=f"at most {MAX_LINES:,}",
                        received=f"{text.count(bytes([10])):,}", control="corpus",
                        remedy="Divide it into several files.")
    documents: list[Text | Chat] = []
    bad: list[BadLine] = []
    count = 0
    for number, raw in _lines(text):
        try:
            document = read_document(read_object(raw), number)
            if documents and type(document) is not type(documents[0]):
                other = "a text" if isinstance(document, Text) else "a conversation"
                raise Unusable(f"{other}, where line {documents[0].line} is another kind")
        except Unusable as error:
            count += 1
            if len(bad) < SHOWN_BAD_LINES:
                bad.append(BadLine(number, str(error)))
            continue
        documents.append(document)
    if not documents:
        raise DataError("Not one line of this file can be used.", control="corpus",
                        expected='{"text": "..."} or {"messages": [...]} on each line',
                        received=f"line {bad[0].line}: {bad[0].reason}")
    kind: Kind = "texts" if isinstance(documents[0], Text) else "chats"
    return Parsed(name, kind, tuple(documents), tuple(bad), count)


def _lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbers, from 1, and what stands on the lines that are not empty."""
    start, number = 0, 1
    while start < len(text):
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        if raw := text[start:end].strip():
            yield number, raw
        start, number = end + 1, number + 1


def _is_jsonl(text: bytes) -> bool:
    objects, named, probed = 0, False, 0
    for _, raw in islice(_lines(text), _PROBED):
        probed += 1
        try:
            table = read_object(raw)
        except Unusable:
            # A name that stands twice and the like are faults of a line, not of the kind.
            objects += raw.startswith(b'{"') and raw.endswith(b"}")
        else:
            objects += 1
            named = named or bool(table.keys() & {"text", "messages"})
    return named and 2 * objects > probed


def _refuse_array(text: bytes) -> None:
    """Raises where a whole file is one JSON array of what JSONL has on lines of its own."""
    start = text.lstrip()[:200].replace(b" ", b"").replace(b"\n", b"").replace(b"\r", b"")
    if start.startswith((b'[{"text":', b'[{"messages":')):
        raise DataError("This file is one JSON array.", control="corpus",
                        expected="JSON Lines: each object on a line of its own",
                        received="an array of objects",
                        remedy="Write each object on its own line, without the brackets around.")


def _check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise DataError("This file is too large to train on in a tab.", control="corpus",
                        expected=f"at most {MAX_BYTES >> 20} MiB",
                        received=f"{len(data) >> 20} MiB", remedy="Choose a part of it.")


def _check_magic(data: bytes) -> None:
    for start, what in _MAGIC.items():
        if data.startswith(start):
            raise DataError("This file is not text.", expected="plain text or JSON Lines",
                            received=what, control="corpus",
                            remedy="Choose a plain text file saved as UTF-8.")
