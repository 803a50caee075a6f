"""A prompt read and ids written by one model: the part that runs beside the GPU.

Runs unchanged in the tab and on CPython: `measure` is given its files, clock and counters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tabgrad.checkpoint.load import load_decoder
from tabgrad.checkpoint.models import StoredModel
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
from tabgrad.gpu.device import Device

Counts = dict[str, int]


async def measure(device: Device, model: StoredModel, prompt: list[int], new: int,
                  now: Callable[[], float], counts: Callable[[], Counts]) -> dict[str, Any]:
    """Loads the model, writes `new` ids greedily twice, and times the second time.

    Args:
        device: an open device.
        model: a stored checkpoint.
        prompt: ids.
        new: how many to write.
        now: milliseconds.
        counts: what was asked of WebGPU until now.
    """
    start = now()
    decoder = await load_decoder(device, model)
    session = Session(decoder, len(prompt) + new)
    loaded = now()
    await _write(session, prompt, new, now)
    cold = session.usage
    session.forget()
    before = counts()
    tokens, times = await _write(session, prompt, new, now)
    after, usage = counts(), session.usage
    kernels = await device.profile(session.plan)
    return {
        "loadMs": loaded - start, "firstTokenMs": loaded - start + cold.first_token_ms,
        "coldMs": cold.first_token_ms, "promptTokens": len(prompt),
        "prefillMs": usage.first_token_ms, "readMs": usage.prefill_ms,
        "decodeMs": [usage.decode_ms / (new - 1)] * (new - 1), "pieces": times, "tokens": tokens,
        "gpuBytes": after["bytes"], "made": {name: after[name] - before[name] for name in
                                            ("buffers", "bind_groups", "pipelines", "submits")},
        "dispatchesPerToken": session.plan.dispatches,
        "layers": decoder.recipe.num_hidden_layers, "adapter": device.info.name,
        "kernels": [[label, ms] for label, ms in kernels]}


async def _write(session: Session, prompt: list[int], new: int,
                 now: Callable[[], float]) -> tuple[list[int], list[float]]:
    tokens: list[int] = []
    times = [now()]
    async for drawn in session.generate(prompt, Sampling(temperature=0.0), new):
        tokens += [one.id for one in drawn]
        times.append(now())
    return tokens, [one - times[0] for one in times[1:]]
