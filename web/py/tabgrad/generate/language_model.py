"""LanguageModel: text in, text out, with a checkpoint's own tokenizer and chat template."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from traceback import clear_frames
from typing import Any

from tabgrad.checkpoint.load import Progress, load_decoder
from tabgrad.checkpoint.models import StoredModel
from tabgrad.errors import SettingsError
from tabgrad.generate.sampling import Drawn, Sampling
from tabgrad.generate.session import Session, Usage, always
from tabgrad.gpu.device import Device
from tabgrad.lora.adapter import Adapter
from tabgrad.models.decoder import Decoder
from tabgrad.text.stop import StopStrings
from tabgrad.text.stream import Detokenizer
from tabgrad.text.tokenizer import Tokenizer, load_tokenizer

Messages = Sequence[Mapping[str, Any]]
DEFAULT_CONTEXT = 4096
DEFAULT_NEW_TOKENS = 256
FROM_CONFIG = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")


@dataclass(frozen=True)
class TokenLogprob:
    """A token that was drawn, as text, with its log-probability.

    Args:
        token: its text; a part of a character is shown as the replacement character.
        id: its number.
        logprob: natural logarithm of its probability, before temperature and filters.
        top_logprobs: the likeliest tokens there: (text, id, logprob), the likeliest first.
    """

    token: str
    id: int
    logprob: float
    top_logprobs: tuple[tuple[str, int, float], ...]


class Piece(str):
    """A piece of text, with the tokens that it came from.

    Example:
        >>> piece = Piece("hello")
        >>> print(piece, piece.logprobs)
        hello ()
    """

    __slots__ = ("logprobs",)

    logprobs: tuple[TokenLogprob, ...]

    def __new__(cls, text: str, logprobs: tuple[TokenLogprob, ...] = ()) -> Piece:
        piece = super().__new__(cls, text)
        piece.logprobs = logprobs
        return piece


class LanguageModel:
    """A loaded checkpoint that writes; see `tabgrad.load`.

    Args:
        decoder: its weights.
        tokenizer: its tokenizer and chat template.
        name: for messages.
        generation_config: generation_config.json: defaults of the sampling.
        context_length: positions of the longest text; the model's own, at most 4096, if None.

    Attributes:
        usage: what the last text cost.
        finish_reason: why it ended: "stop", "length" or "abort".
        adapters: those that are attached, by name; `adapter` is the one that counts, or None.
    """

    def __init__(self, decoder: Decoder, tokenizer: Tokenizer, name: str,
                 generation_config: Mapping[str, Any] | None = None,
                 context_length: int | None = None) -> None:
        self.name = name
        self.tokenizer = tokenizer
        longest = decoder.recipe.max_position_embeddings
        wanted = min(longest, DEFAULT_CONTEXT) if context_length is None else context_length
        self._session: Session | None = Session(decoder, wanted)
        self.usage = Usage()
        self.finish_reason = "length"
        self.adapters: dict[str, Adapter] = {}
        self.adapter: str | None = None
        self._defaults = _defaults(generation_config or {})

    @classmethod
    async def open(cls, device: Device, model: StoredModel, context_length: int | None = None,
                   weights: Progress | None = None,
                   kernels: Callable[[int, int], None] | None = None) -> LanguageModel:
        """Puts a stored model on the GPU and compiles its decode plan.

        What fails or is stopped on the way gives its GPU memory back.

        Args:
            device: where it shall be.
            model: whose files are complete.
            context_length: as above.
            weights: called with (bytes on the GPU, all bytes).
            kernels: called with (kernels compiled, all kernels).

        Raises:
            CheckpointError: a model that tabgrad does not compute, or without a tokenizer.
            OutOfMemory: weights or caches that this adapter cannot hold.
            SettingsError: a context_length without room for two tokens, or sampling settings in
                generation_config.json that are out of their range.
        """
        try:
            return await cls._open(device, model, context_length, weights, kernels)
        except BaseException as error:
            # The frames that have failed still name the weights that came.
            clear_frames(error.__traceback__)
            device.trim()
            raise

    @classmethod
    async def _open(cls, device: Device, model: StoredModel, context_length: int | None,
                    weights: Progress | None,
                    kernels: Callable[[int, int], None] | None) -> LanguageModel:
        _defaults(model.generation_config)  # refused before the weights come
        tokenizer = await load_tokenizer(model.read)
        decoder = await load_decoder(device, model, weights)
        language_model = cls(decoder, tokenizer, model.name, model.generation_config,
                             context_length)
        await language_model.session.compile(kernels)
        return language_model

    @property
    def session(self) -> Session:
        """What reads and writes ids.

        Raises:
            SettingsError: the model was closed.
        """
        if self._session is None:
            raise SettingsError(f"{self.name} was closed.", remedy="Load it again.")
        return self._session

    @property
    def decoder(self) -> Decoder:
        """The weights."""
        return self.session.decoder

    @property
    def context_length(self) -> int:
        """Tokens of the longest text."""
        return self.session.window

    def sampling(self, **settings: Any) -> Sampling:
        """How to draw: the settings that are given, else the checkpoint's, else the usual ones.

        Raises:
            SettingsError: a setting out of its range.
        """
        given = {name: value for name, value in settings.items() if value is not None}
        return Sampling(**{**self._defaults, **given})

    def encode(self, prompt: str | Messages, tools: Sequence[Mapping[str, Any]] | None = None,
               ) -> list[int]:
        """The ids that the model reads: of a text, or of a conversation through its template."""
        if isinstance(prompt, str):
            return self.tokenizer.encode(prompt)
        return self.tokenizer.encode_chat(prompt, tools=tools)

    async def generate(self, prompt: str | Messages, *, max_new_tokens: int | None = None,
                       stop: str | Sequence[str] | None = None,
                       tools: Sequence[Mapping[str, Any]] | None = None,
                       go_on: Callable[[], bool] = always, **settings: Any,
                       ) -> AsyncGenerator[Piece, None]:
        """Streams what follows a text, or the answer to a conversation.

        Args:
            prompt: a text; or messages, each with "role" and "content".
            max_new_tokens: most tokens to write; 256 if None.
            stop: strings that end the text; they are not given out.
            tools: descriptions of tools, for templates that show them.
            go_on: asked before each piece of work; False ends early.
            settings: temperature, top_k, top_p, min_p, repetition_penalty, frequency_penalty,
                presence_penalty, seed, top_logprobs; see `Sampling`.

        Yields:
            pieces of text, never half a character.

        Raises:
            SettingsError: a setting out of its range, or a text that is longer than the window.
        """
        ids = self.encode(prompt, tools)
        text = Detokenizer(self.tokenizer)
        stops = StopStrings([stop] if isinstance(stop, str) else stop or ())
        stop_ids = self.tokenizer.stop_ids
        self.finish_reason = "abort"
        stream = self.session.generate(ids, self.sampling(**settings),
                                       DEFAULT_NEW_TOKENS if max_new_tokens is None
                                       else max_new_tokens, stop_ids, go_on)
        async with aclosing(stream):
            async for drawn in stream:
                self.usage = self.session.usage
                shown = [one for one in drawn if one.id not in stop_ids]
                piece, stopped = stops.feed(text.feed([one.id for one in shown]))
                if piece or shown:
                    yield Piece(piece, tuple(self._logprob(one) for one in shown))
                if stopped:
                    self.finish_reason = "stop"
                    return
        self.usage = self.session.usage
        reason = self.session.finish_reason
        self.finish_reason = "length" if reason == "window" else reason
        rest, _ = stops.feed(text.finish())
        rest += stops.finish()
        if rest:
            yield Piece(rest)

    async def attach(self, adapter: Adapter) -> None:
        """Takes in an adapter under its name, in the place of one of that name; it is off.

        Plans are recorded anew once; from then on `use` changes one number on the GPU.

        Args:
            adapter: of this model's decoder, not attached yet.
        """
        self._take_off(adapter.name)
        adapter.set_weight(0.0)
        adapter.attach()
        self.adapters[adapter.name] = adapter
        await self.session.renew()

    async def detach(self, name: str) -> None:
        """Forgets an adapter; plans are recorded anew. One that is not attached is fine."""
        if self._take_off(name):
            await self.session.renew()

    def _take_off(self, name: str) -> bool:
        former = self.adapters.pop(name, None)
        if former is None:
            return False
        former.detach()
        if self.adapter == name:
            self.adapter = None
        return True

    def use(self, name: str | None, weight: float = 1.0) -> None:
        """Lets one attached adapter count, and no other. The weights are not loaded again.

        Args:
            name: of an adapter, or None for the model alone.
            weight: 0 is off, 1 is on.

        Raises:
            SettingsError: no adapter of this name is attached, or the weight is not finite.
        """
        if name is not None and name not in self.adapters:
            raise SettingsError(f"The adapter {name} is not attached.", control="adapter",
                                expected=", ".join(self.adapters) or "none is", received=name)
        for each, adapter in self.adapters.items():
            adapter.set_weight(weight if each == name else 0.0)
        self.adapter = name
        self.session.forget()

    async def close(self) -> None:
        """Gives the GPU memory back when the text under way has ended."""
        if self._session is None:
            return
        device = self._session.device
        await self._session.close()
        self._session = None
        device.trim()

    def _logprob(self, drawn: Drawn) -> TokenLogprob:
        return TokenLogprob(
            self.tokenizer.decode([drawn.id]), drawn.id, drawn.logprob,
            tuple((self.tokenizer.decode([identity]), identity, logprob)
                  for identity, logprob in drawn.alternatives))


def _defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """Sampling settings of generation_config.json; greedy where it says so, or says nothing of
    sampling. As in Transformers, its repetition penalty holds for both."""
    samples = config.get("do_sample") is True
    found: dict[str, Any] = {
        name: config[name] for name in FROM_CONFIG if config.get(name) is not None
        and (samples or name == "repetition_penalty")}
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingsError(f"generation_config.json: {name} is not a number.",
                                expected="a number", received=repr(value)[:80])
        alone: dict[str, Any] = {name: value}
        try:
            Sampling(**alone)
        except SettingsError as error:
            raise SettingsError(f"generation_config.json: {error.message}", expected=error.expected,
                                received=error.received) from error
    return found if samples else {**found, "temperature": 0.0}
