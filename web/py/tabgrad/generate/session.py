"""Session: one text after another with one decoder, keeping what it has read in memory.

A text is read in chunks up to its last id; from there on one plan is replayed: it reads an id,
draws the next, and feeds it to itself, all on the GPU. Ids come back a few at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from dataclasses import dataclass

from tabgrad import platform
from tabgrad.errors import SettingsError
from tabgrad.generate.prefill import Prefill, chunk_sizes
from tabgrad.generate.sampling import Drawn, Sampler, Sampling
from tabgrad.generate.snapshots import Snapshots
from tabgrad.gpu.device import Device, use_device
from tabgrad.gpu.plan import Plan
from tabgrad.models.cached import Caches, read
from tabgrad.models.decoder import Decoder

BATCH_MS = 60.0
LEAST_BATCH = 4
LARGEST_BATCH = 32


@dataclass
class Usage:
    """What one text cost.

    Attributes:
        prompt_tokens: ids given.
        reused_tokens: those that were in memory already.
        prefill_tokens: those that were read now, in chunks.
        completion_tokens: ids drawn and given out.
        prefill_ms: from the start to the end of reading.
        first_token_ms: from the start to the first id.
        decode_ms: from the first id to the last.
    """

    prompt_tokens: int = 0
    reused_tokens: int = 0
    prefill_tokens: int = 0
    completion_tokens: int = 0
    prefill_ms: float = 0.0
    first_token_ms: float = 0.0
    decode_ms: float = 0.0

    @property
    def prefill_tokens_per_second(self) -> float:
        """Ids read in a second; 0 where none had to be read."""
        return 1e3 * self.prefill_tokens / self.prefill_ms if self.prefill_ms else 0.0

    @property
    def decode_tokens_per_second(self) -> float:
        """Ids drawn in a second, the first not counted; 0 where there is only one."""
        return 1e3 * (self.completion_tokens - 1) / self.decode_ms if self.decode_ms else 0.0


def always() -> bool:
    """Never asks to stop."""
    return True


class Session:
    """Reads and writes ids with one decoder.

    Args:
        decoder: whose weights are only read; training may change them between texts.
        window: S, positions of the longest text; the decoder's own limit if None or above it.
        chunks: rows of the prefill plans, the largest first; what suits the adapter if None.

    Raises:
        SettingsError: a window without room for two ids.
        OutOfMemory: a cache that this adapter cannot hold.

    Attributes:
        usage: of the last text.
        finish_reason: why it ended: "stop" (a stop id), "length", "window" or "abort".
    """

    def __init__(self, decoder: Decoder, window: int | None = None,
                 chunks: Sequence[int] | None = None) -> None:
        self.device: Device = decoder.device
        self.decoder = decoder
        wanted = decoder.recipe.max_position_embeddings if window is None else window
        if wanted < 2:
            raise SettingsError("The context length is out of range.", control="context_length",
                                expected="room for two tokens or more", received=f"{wanted}")
        self.window = wanted if decoder.longest is None else min(wanted, decoder.longest)
        use_device(self.device)
        sizes = chunk_sizes(self.device.info) if chunks is None else chunks
        fitting = [size for size in sizes if size <= self.window] or [self.window]
        self.caches = Caches(decoder, self.window, max(fitting[0], LARGEST_BATCH))
        self.prefill = Prefill(decoder, self.caches, fitting)
        self.sampler = Sampler(self.device, decoder.recipe.vocab_size, self.window)
        self.snapshots = Snapshots(self.caches)
        self.usage = Usage()
        self.finish_reason = "length"
        # What is in memory; None while it changes, so that whoever is interrupted starts afresh.
        self._read: list[int] | None = []
        self._reach = 0
        self._closed = False
        self._plan: Plan | None = None
        self._one_at_a_time = asyncio.Lock()

    @property
    def plan(self) -> Plan:
        """The compiled decode plan."""
        assert self._plan is not None, "compile first"
        return self._plan

    async def compile(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Records the decode step and makes its plan; a second call does nothing."""
        if self._plan is not None:
            return
        use_device(self.device)
        with self.device.recording() as tape:
            hidden = read(self.decoder, self.sampler.token, self.sampler.span, self.caches)
            self.sampler.record(self.decoder.head(hidden).reshape(1, -1))        # (1, V)
        self._plan = await tape.compile(label="decode step", progress=progress)

    async def close(self) -> None:
        """Lets the plans go when the text under way has ended; the buffers follow them."""
        async with self._one_at_a_time:
            self._closed = True
            self._release()

    async def renew(self) -> None:
        """Records the plans anew when the text under way has ended: the decoder computes
        something else now."""
        async with self._one_at_a_time:
            self._release()
            self.forget()
            await self.compile()

    def _release(self) -> None:
        self.prefill.release()
        if self._plan is not None:
            self._plan.release()
        self._plan = None

    def forget(self) -> None:
        """Drops what was read: the weights have changed, or nobody shall find it again."""
        self._read = None
        self.snapshots.forget()

    async def generate(self, ids: Sequence[int], sampling: Sampling, max_new_tokens: int,
                       stop_ids: Collection[int] = (), go_on: Callable[[], bool] = always,
                       stream: int = 0) -> AsyncGenerator[list[Drawn], None]:
        """Draws what follows `ids`, a few ids at a time.

        Args:
            ids: the text so far, at least one id.
            sampling: how to draw.
            max_new_tokens: most ids to draw.
            stop_ids: ids that end the text; the one that did is the last given out.
            go_on: asked before each piece of work, also while the prompt is read; False ends.
            stream: texts of one seed that shall not share random numbers have different ones.

        Yields:
            one or more ids with their log-probabilities.

        Raises:
            SettingsError: no id, one outside the vocabulary, more than the window holds, or a
                session that was closed.
        """
        self._check(ids, max_new_tokens)
        async with self._one_at_a_time:
            if self._closed:
                raise SettingsError("The model was closed.", remedy="Load it again.")
            self.usage, self.finish_reason = Usage(prompt_tokens=len(ids)), "abort"
            # A text that was given up while it waited leaves alone what was read.
            if not go_on():
                return
            await self.compile()
            started = platform.current().now_ms()
            if not await self._read_prompt(ids, go_on, started):
                return
            self.sampler.begin(list(ids), len(ids) - 1, sampling, stream=stream)
            await self.device.flush()
            left = min(max_new_tokens, self.window - len(ids))
            async for drawn in self._draw(list(ids), left, stop_ids, go_on, started):
                yield drawn

    async def _read_prompt(self, ids: Sequence[int], go_on: Callable[[], bool],
                           started: float) -> bool:
        """Reads all ids but the last; False when it was given up."""
        last = len(ids) - 1
        start = self.usage.reused_tokens = await self._rewind(ids)
        done = await self.prefill.run(ids[start:last], start, go_on)
        self._read = list(ids[:start + done])
        self._reach = max(self._reach, start + done)
        self.usage.prefill_tokens = done
        self.usage.prefill_ms = platform.current().now_ms() - started if done else 0.0
        if start + done < last or not go_on():
            return False
        await self.snapshots.save("prompt", ids[:last])
        return True

    async def _rewind(self, ids: Sequence[int]) -> int:
        """Goes back to where `ids` and what was read part; returns the position.

        `_read` is to be set when more was read from there.
        """
        self._fit_rotary(len(ids))
        read, self._read = self._read, None
        common = _common(read or [], ids[:-1])
        if read is not None and self.caches.keeps(common, self._reach):
            if common == len(read) or not self.caches.states:
                return common
            found = self.snapshots.longest(ids[:common])
            if found and self.caches.keeps(found, self._reach):
                return await self.snapshots.restore(ids[:common])
        self.caches.clear()
        self._reach = 0
        await self.device.flush()
        return 0

    def _fit_rotary(self, length: int) -> None:
        """Frequencies that depend on the text's length are those of this text."""
        if self.decoder.tables.fit(length):
            self.forget()

    async def _draw(self, ids: list[int], left: int, stop_ids: Collection[int],
                    go_on: Callable[[], bool], started: float,
                    ) -> AsyncGenerator[list[Drawn], None]:
        now, first = platform.current().now_ms, 0.0
        self.finish_reason = "window" if len(ids) + left >= self.window else "length"
        while left > 0:
            if not go_on():
                self.finish_reason = "abort"
                break
            count = min(self._batch(first == 0.0), left)
            await self.snapshots.save("batch", ids[:-1])
            self._read = None
            data = await self.device.replay([self.plan], steps=count,
                                            readback=self.sampler.readback)
            drawn = self.sampler.parse(data)
            self._read = ids + [one.id for one in drawn[:-1]]
            self._reach = max(self._reach, len(self._read))
            kept = _up_to_stop(drawn, stop_ids)
            if len(kept) < len(drawn):
                await self._undo(ids, kept)
            ids += [one.id for one in kept]
            left -= len(kept)
            if not first:
                first = now()
                self.usage.first_token_ms = first - started
            self.usage.completion_tokens += len(kept)
            self.usage.decode_ms = now() - first
            stopped = kept[-1].id in stop_ids
            if stopped:
                self.finish_reason = "stop"
            yield kept
            if stopped:
                break
            # Natively nothing above has let the event loop run.
            await platform.current().pause()

    async def _undo(self, ids: list[int], kept: list[Drawn]) -> None:
        """The plan ran on past a stop: states that cannot go back are read again up to it."""
        wanted = ids + [one.id for one in kept[:-1]]
        if self.caches.states:
            self._read = None
            found = await self.snapshots.restore(wanted)
            await self.prefill.run(wanted[found:], found, always)
        self._read = wanted

    def _batch(self, first: bool) -> int:
        """Steps in one go: the first id alone, then about 60 ms, but never fewer than four."""
        if first:
            return 1
        step_ms = self.device.step_ms([self.plan])
        fitting = int(BATCH_MS / step_ms) if step_ms else LEAST_BATCH
        return max(LEAST_BATCH, min(LARGEST_BATCH, fitting))

    def _check(self, ids: Sequence[int], max_new_tokens: int) -> None:
        vocabulary = self.decoder.recipe.vocab_size
        if not ids:
            raise SettingsError("There is no text to go on from.", expected="at least one token",
                                received="none", control="prompt", remedy="Write something.")
        unknown = next((one for one in ids if not 0 <= one < vocabulary), None)
        if unknown is not None:
            raise SettingsError("The text has a token that the model does not know.",
                                expected=f"ids below {vocabulary}", received=f"{unknown}",
                                control="prompt")
        if max_new_tokens < 1:
            raise SettingsError("max_new_tokens is out of range.", expected="1 or more",
                                received=repr(max_new_tokens), control="max_new_tokens")
        if len(ids) >= self.window:
            raise SettingsError("The text is longer than the model's window.",
                                expected=f"at most {self.window - 1} tokens",
                                received=f"{len(ids)} tokens", control="prompt",
                                remedy="Shorten it, or begin a new conversation.")


def _common(read: Sequence[int], wanted: Sequence[int]) -> int:
    """How many ids two texts begin with in common."""
    return next((index for index, (one, other) in enumerate(zip(read, wanted, strict=False))
                 if one != other), min(len(read), len(wanted)))


def _up_to_stop(drawn: list[Drawn], stop_ids: Collection[int]) -> list[Drawn]:
    for index, one in enumerate(drawn):
        if one.id in stop_ids:
            return drawn[:index + 1]
    return drawn
