"""Tokenizers and chat templates on CPython: PyPI's `tokenizers` and `jinja2`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tabgrad.errors import CheckpointError, TabgradError

JINJA_SAFE = (3, 1, 6)


def _missing(package: str, use: str) -> TabgradError:
    return TabgradError(f"The Python package {package} is not installed. {use}",
                        remedy=f"Run: pip install {package}, or: pip install 'tabgrad[native]'.")


class NativeTokenizer:
    """A tokenizer.json, read by Hugging Face's own library.

    Args:
        data: the file's bytes.

    Attributes:
        vocab_size: entries, special tokens included.
        decoder: how tokens become text, as the file describes it.
        special_ids: ids of the tokens that are no text.

    Raises:
        CheckpointError: not a tokenizer.json.
        TabgradError: the package `tokenizers` is not installed.
    """

    def __init__(self, data: bytes) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise _missing("tokenizers", "Tokenizers need it outside a browser.") from error
        try:
            self._tokenizer = Tokenizer.from_str(data.decode("utf-8"))
        except Exception as error:  # the library raises bare Exceptions
            raise CheckpointError("tokenizer.json cannot be read.",
                                  received=str(error)[:200]) from error
        self._tokenizer.no_truncation()  # a file may ask for it; a text has the length it has
        self._tokenizer.no_padding()
        self.vocab_size = int(self._tokenizer.get_vocab_size(with_added_tokens=True))
        decoder = self._tokenizer.decoder
        self.decoder: dict[str, Any] | None = (
            None if decoder is None else json.loads(decoder.__getstate__()))
        added = self._tokenizer.get_added_tokens_decoder()
        self.special_ids = frozenset(one for one, token in added.items() if token.special)

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        """Ids of a text."""
        return list(self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None where there is none."""
        found = self._tokenizer.token_to_id(token)
        return None if found is None else int(found)

    def id_to_token(self, identity: int) -> str | None:
        """The token of an id, as the vocabulary writes it; None where there is none."""
        return self._tokenizer.id_to_token(identity)


class NativeTemplate:
    """A Jinja template in a sandbox, with what chat templates may use.

    Args:
        source: the template.

    Raises:
        CheckpointError: it is no Jinja template.
        TabgradError: the package `jinja2` is not installed.
    """

    def __init__(self, source: str) -> None:
        try:
            import jinja2
        except ImportError as error:
            raise _missing("jinja2", "Chat templates need it outside a browser.") from error
        _check_version(jinja2.__version__)
        try:
            self._template = _environment().from_string(source)
        except jinja2.TemplateError as error:
            raise CheckpointError("The chat template cannot be read.",
                                  received=str(error)[:200]) from error

    def render(self, variables: Mapping[str, Any]) -> str:
        """The text for these variables.

        Raises:
            CheckpointError: the template refuses them, or does what a sandbox forbids.
        """
        try:
            return str(self._template.render(**variables))
        except Exception as error:  # a template is a program: it can fail in any way
            raise CheckpointError("The chat template does not accept this conversation.",
                                  received=str(error)[:200]) from error


def _check_version(version: str) -> None:
    """Older versions have known ways out of the sandbox, and templates come from strangers."""
    if tuple(int(part) for part in version.split(".")[:3]) < JINJA_SAFE:
        raise TabgradError("This jinja2 is too old to render templates of others safely.",
                           expected="3.1.6 or newer", received=version,
                           remedy="Run: pip install --upgrade jinja2.")


def _environment() -> Any:
    """Set up as Transformers does it, so that templates see what they were written for."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def raise_exception(message: str) -> None:
        raise jinja2.TemplateError(message)

    def tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None,
               separators: tuple[str, str] | None = None, sort_keys: bool = False) -> str:
        # Jinja's own filter escapes what HTML would need.
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True,
        extensions=[_generation_tag(), "jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    # Not the class itself: what hangs on it is nobody's business.
    environment.globals["dict"] = lambda *pairs, **named: dict(*pairs, **named)
    environment.globals["namespace"] = _namespace()
    return environment


def _namespace() -> Any:
    """Jinja's namespace, without names that Python itself uses."""
    import jinja2
    from jinja2.utils import Namespace

    def check(name: str) -> None:
        if name.startswith("_"):
            raise jinja2.TemplateError(f"a namespace cannot have the name {name}")

    class Guarded(Namespace):
        def __init__(*arguments: Any, **named: Any) -> None:  # a name may be "self"
            itself, *rest = arguments
            values = dict(*rest, **named)
            for name in values:
                check(name)
            Namespace.__init__(itself, values)

        def __setitem__(self, name: str, value: Any) -> None:
            check(name)
            super().__setitem__(name, value)

    return Guarded


def _generation_tag() -> Any:
    """`{% generation %}`, which marks what the assistant says, and shows it."""
    from jinja2 import nodes
    from jinja2.ext import Extension

    class Generation(Extension):
        tags = {"generation"}  # noqa: RUF012  (Jinja's own declaration)

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body).set_lineno(line)

    return Generation
