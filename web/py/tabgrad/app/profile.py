"""Where the time of one training step goes, kernel by kernel."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder
from tabgrad.train.pretrain import pretrain_step, windows
from tabgrad.train.settings import TrainSettings


async def profile_step(device: Device, settings: TrainSettings) -> list[dict[str, Any]]:
    """Times every launch of a step of these settings.

    A step changes weights, so it runs on a decoder of its own and on random ids; the arithmetic
    and the sizes are those of the run.

    Returns:
        a row for each kernel and size: name, milliseconds in all, count of launches.
    """
    use_device(device)
    ids = min(settings.recipe.vocab_size, 256)
    text = np.random.default_rng(0).integers(0, ids, 4 * settings.context_length + 4)
    step = pretrain_step(Decoder(settings.recipe, settings.seed), settings,
                         windows(settings, text.astype(np.uint8)))
    await step.compile()
    # Once through, so that no time of a first use is counted.
    await step.submit(0, 1)
    rows: defaultdict[str, list[float]] = defaultdict(list)
    for label, milliseconds in await device.profile(step.plan):
        rows[label].append(milliseconds)
    step.plan.release()
    return [{"name": label, "milliseconds": sum(times), "count": len(times)}
            for label, times in sorted(rows.items(), key=lambda item: -sum(item[1]))]
