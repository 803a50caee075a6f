"""The same steps in PyTorch on the CPU: the outside reference for losses, and for speed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from benchmarks import peer_work
from tests.parity.torch_twin import twin_from


def measure(shape: str, steps: int) -> dict[str, Any]:
    """Losses and milliseconds of each step, in the form of `timed_steps.measure`."""
    twin = twin_from(peer_work.weights(), "byte-tinygpt")
    ids, targets = (torch.tensor(part.astype(np.int64)) for part in peer_work.batch(shape))
    adamw = torch.optim.AdamW(twin.parameters(), lr=peer_work.LEARNING_RATE,
                              betas=peer_work.BETAS, eps=peer_work.EPSILON,
                              weight_decay=peer_work.DECAY)
    losses, ms = [], []
    for _ in range(steps):
        start = time.perf_counter()
        adamw.zero_grad()
        loss = twin.loss(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), peer_work.CLIP)
        adamw.step()
        losses.append(loss.item())
        ms.append((time.perf_counter() - start) * 1000)
    return {"peer": "torch", "losses": losses, "ms": ms,
            "backend": f"torch {torch.__version__}, {torch.get_num_threads()} threads"}
