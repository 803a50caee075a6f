"""Documents in ids, each with what is learned of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tabgrad.data.answers import Answers, NoSpan
from tabgrad.data.borders import NoBorder, find_borders
from tabgrad.data.documents import BadLine, Chat, Document, Parsed, Text
from tabgrad.errors import CheckpointError, DataError
from tabgrad.text.tokenizer import Tokenizer


def tokenize(parsed: Parsed, tokenizer: Tokenizer,
             on_bad: Callable[[BadLine], None] | None = None) -> list[Document]:
    """Ids of all documents, and marks for those that are learned.

    A text begins with the special tokens that the model's texts begin with, and ends with the
    model's end-of-text token, which is learned too: so the model learns to stop. Everything but
    the first id is learned. A conversation is what the chat template makes of it, with nothing
    added; its answers and their end tokens are learned.

    Args:
        parsed: the documents.
        tokenizer: of the model.
        on_bad: called for each conversation that the template or the tokenizer does not allow;
            without it, the first such one is an error.

    Raises:
        DataError: a conversation for a model without a chat template; one that cannot be used.

    Example:
        >>> from tabgrad.data.parsing import parse
        >>> from tabgrad.text.tokenizer import ByteTokenizer
        >>> words = Tokenizer(ByteTokenizer(), {"eos_token": "!"}, {}, ())
        >>> [document] = tokenize(parse("a.txt", b"One"), words)
        >>> document.ids.tolist(), document.trained.tolist()
        ([79, 110, 101, 33], [False, True, True, True])
    """
    if parsed.kind == "chats" and not tokenizer.has_template:
        raise DataError("This model has no chat template, so it cannot learn from conversations.",
                        remedy='Choose a model that was trained to converse, or write each '
                               'conversation as a "text".', control="corpus")
    answers = Answers(tokenizer)
    documents = []
    for one in parsed.documents:
        if isinstance(one, Text):
            documents.append(_text(one, tokenizer))
            continue
        try:
            documents.append(_chat(one, tokenizer, answers))
        except (NoSpan, NoBorder, CheckpointError) as error:
            reason = _reason(error)
            if on_bad is None:
                raise DataError(f"Line {one.line} cannot be used.", received=reason,
                                control="corpus", remedy="Mend it, or leave it out.") from error
            on_bad(BadLine(one.line, reason))
    return documents


def _text(one: Text, tokenizer: Tokenizer) -> Document:
    ids = tokenizer.encode(one.text)
    end = tokenizer.eos_id
    if end is not None and ids[-1:] != [end]:
        ids.append(end)
    trained = np.ones(len(ids), np.bool_)
    trained[:1] = False
    return Document(np.array(ids, np.uint32), trained, tokenizer=tokenizer)


def _chat(one: Chat, tokenizer: Tokenizer, answers: Answers) -> Document:
    text, spans = answers.find(one)
    ids = tokenizer.encode(text, add_special_tokens=False)
    trained = np.zeros(len(ids), np.bool_)
    borders = find_borders(tokenizer, text, ids, [place for span in spans for place in span])
    for begin, end in zip(borders[::2], borders[1::2], strict=True):
        # A token that is partly the assistant's is learned, as in Transformers.
        trained[begin.token:end.token + end.inside] = True
    trained[:1] = False
    return Document(np.array(ids, np.uint32), trained, whole=True, tokenizer=tokenizer)


def _reason(error: Exception) -> str:
    received = error.received if isinstance(error, CheckpointError) else None
    return received or str(error)
