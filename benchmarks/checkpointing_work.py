"""Timed gradients of a decoder, kept and run again: the part that runs beside the GPU.

Runs unchanged in the tab and on CPython: `measure` is given its clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tabgrad.gpu.device import Device
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
    arena, rows = decoder.arena, []
    exact = np.zeros(0, np.float32)
    for name, (decoder.gradient_checkpointing, decoder.activation_dtype) in MODES.items():
        with device.recording() as tape:
            arena.clear_gradients()
            loss = decoder.loss(ids, targets)
            loss.backward()
        plan = await tape.compile(outputs=[loss.region], label=name)
        times = []
        for _ in range(rounds + 1):
            start = now_ms()
            await device.replay([plan], readback=loss.region)
            times.append(now_ms() - start)
        found = np.frombuffer(await device.read(arena.gradients), np.float32)
        exact = found if name == "kept" else exact
        distance = np.linalg.norm((found - exact).astype(np.float64)) / np.linalg.norm(exact)
        rows.append({
            "mode": name, "layers": layers, "context": context, "batch": batch,
            "kept_bytes": plan.saved_bytes, "slot_bytes": plan.slot_bytes, "ms": times[1:],
            "dispatches": plan.dispatches, "same_bits": found.tobytes() == exact.tobytes(),
            "distance": float(distance), "adapter": device.info.name,
            "loss": float(np.frombuffer(await device.read(loss.region), np.float32)[0])})
        plan.release()
    return rows
