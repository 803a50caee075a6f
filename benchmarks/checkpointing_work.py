"""Timed gradients of a decoder, kept and run again: the part that runs beside the GPU.

Runs unchanged in the tab and on CPython: `measure` is given its clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tabgrad.gpu.device import Device
from tabgrad.gpu.plan import Plan
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import preset
from tabgrad.tensor import Tensor

MODES = {"kept": (False, "float32"), "checkpointing": (True, "float32"),
         "in bfloat16": (True, "bfloat16"), "in float16": (True, "float16")}


async def measure(device: Device, layers: int, context: int, batch: int, rounds: int,
                  now_ms: Callable[[], float]) -> list[dict[str, Any]]:
    """Loss and gradients of `byte-tinygpt` with so many layers, in each mode.

    Returns:
        For each mode: bytes kept for the backward and bytes of all intermediate results; the
        milliseconds of each round after the first; the loss; the relative distance of all
        gradients from those of "kept", and whether they are the same bits.
    """
    tiny = preset("byte-tinygpt")
    recipe = replace(tiny, num_hidden_layers=layers, layer_types=tiny.layer_types[:1] * layers,
                     max_position_embeddings=context)
    decoder = Decoder(recipe, seed=1)
    draw = np.random.default_rng(0).integers(0, recipe.vocab_size, (2, batch, context))
    ids, targets = (Tensor.from_numpy(part.astype(np.uint32)) for part in draw)
    arena = decoder.arena

    async def compiled(mode: str) -> Plan:
        decoder.gradient_checkpointing, decoder.activation_dtype = MODES[mode]
        with device.recording() as tape:
            arena.clear_gradients()
            loss = decoder.loss(ids, targets)
            loss.backward()
        return await tape.compile(outputs=[loss.region], label=mode)

    plans = {name: await compiled(name) for name in MODES}
    times: dict[str, list[float]] = {name: [] for name in MODES}
    found = {}
    for _ in range(rounds + 1):
        for name, plan in plans.items():  # in turns, so that a busy machine slows all alike
            start = now_ms()
            loss_bytes = await device.replay([plan], readback=plan.outputs[0])
            times[name].append(now_ms() - start)
            found[name] = loss_bytes, np.frombuffer(await device.read(arena.gradients), np.float32)
    exact = found["kept"][1]
    return [{
        "mode": name, "layers": layers, "context": context, "batch": batch,
        "kept_bytes": plan.saved_bytes, "slot_bytes": plan.slot_bytes, "ms": times[name][1:],
        "dispatches": plan.dispatches, "adapter": device.info.name,
        "same_bits": found[name][1].tobytes() == exact.tobytes(),
        "distance": float(np.linalg.norm((found[name][1] - exact).astype(np.float64))
                          / np.linalg.norm(exact)),
        "loss": float(np.frombuffer(found[name][0], np.float32)[0])}
        for name, plan in plans.items()]
