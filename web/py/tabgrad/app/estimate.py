"""What a run would cost, before it starts: arithmetic, and one product measured here.

The memory is a sum over tensors that the training plan must hold at once. The time is the number of
multiplications over the speed of a matrix product of a typical shape on this adapter; everything
else that a step does is covered by one factor. Both are estimates and are shown as such.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tabgrad import ops, platform
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import parameter_count
from tabgrad.models.recipe import Recipe
from tabgrad.optim import OPTIMIZERS
from tabgrad.tensor import ITEM_BYTES, Tensor
from tabgrad.train.settings import TrainSettings

# Layer norms, attention's softmax, GELU, the optimiser and the launches, over the products' time.
OTHER_WORK = 1.6
_ROWS, _INNER, _COLUMNS = 512, 128, 512
_REPEATS = 4
_ENOUGH_MS = 40.0


def estimate_run(settings: TrainSettings, gflops: float) -> dict[str, Any]:
    """The reply of `estimate`.

    Args:
        settings: of the run.
        gflops: measured speed of a matrix product here, in 10^9 operations a second.

    Example:
        >>> reply = estimate_run(TrainSettings(), gflops=10.0)
        >>> reply["parameters"], reply["memory"]["weights"], reply["tokens_per_step"]
        (842496, 3369984, 2048)
    """
    recipe = settings.recipe
    weights = parameter_count(recipe) * ITEM_BYTES
    tokens = settings.context_length * settings.per_device_train_batch_size
    moments = OPTIMIZERS[settings.optim].buffers * weights
    memory = {"weights": weights, "gradients": weights, "optimizer": moments,
              "activations": activation_bytes(recipe, tokens),
              "batches": 2 * settings.tokens_per_step * ITEM_BYTES}
    flops = settings.gradient_accumulation_steps * training_flops(
        recipe, settings.per_device_train_batch_size, settings.context_length)
    step_ms = OTHER_WORK * flops / (gflops * 1e6)
    return {"parameters": parameter_count(recipe), "memory": memory,
            "total_bytes": sum(memory.values()), "step_ms": step_ms,
            "tokens_per_step": settings.tokens_per_step,
            "total_seconds": settings.max_steps * step_ms / 1000.0}


def activation_bytes(recipe: Recipe, tokens: int) -> int:
    """Bytes of what the forward pass saves for the backward pass, and of its working space.

    A block saves, for each token: two normalised inputs, queries with keys and values, the mixed
    values, two residual sums (width C each, the packed q, k, v three), and the MLP's inner values
    before and after GELU. The head saves its input and the logits, and their gradient is as large.

    Args:
        recipe: the model's sizes.
        tokens: N = B T.
    """
    width, inner = recipe.hidden_size, recipe.intermediate_size
    keys = recipe.num_key_value_heads * recipe.head_dim
    block = 6 * width + 2 * keys + 2 * inner + recipe.num_attention_heads
    head = 2 * width + 2 * recipe.vocab_size
    working = 2 * width + 2 * inner
    return tokens * (recipe.num_hidden_layers * block + head + working) * ITEM_BYTES


def training_flops(recipe: Recipe, batch: int, context: int) -> int:
    """Operations of forward and backward: a product costs 2 forward, 4 backward per weight.

    Args:
        recipe: the model's sizes.
        batch: B.
        context: T. Causal attention reads T / 2 positions on average, twice.
    """
    width, inner = recipe.hidden_size, recipe.intermediate_size
    keys = recipe.num_key_value_heads * recipe.head_dim
    matrices = recipe.num_hidden_layers * (2 * width * width + 2 * width * keys
                                           + 2 * width * inner) + width * recipe.vocab_size
    attention = recipe.num_hidden_layers * context * width
    return 6 * batch * context * (matrices + attention)


async def matmul_gflops(device: Device) -> float:
    """Speed of x Wᵀ + b with x (512, 128) and W (512, 128) here, in 10^9 operations a second."""
    use_device(device)
    draw = np.random.default_rng(0)
    x, weight, bias = (Tensor.from_numpy(draw.standard_normal(shape).astype(np.float32))
                       for shape in ((_ROWS, _INNER), (_COLUMNS, _INNER), (_COLUMNS,)))
    with device.recording() as tape:
        last = [ops.linear(x, weight, bias) for _ in range(_REPEATS)][-1]    # (512, 512)
    plan = await tape.compile(outputs=[last.region], label="speed of a product")
    now_ms = platform.current().now_ms
    await device.replay([plan])
    steps, elapsed = 1, 0.0
    while elapsed < _ENOUGH_MS and steps < 1 << 12:
        steps *= 2
        started = now_ms()
        await device.replay([plan], steps=steps)
        elapsed = now_ms() - started
    plan.release()
    return 2.0 * _ROWS * _INNER * _COLUMNS * _REPEATS * steps / (max(elapsed, 1e-3) * 1e6)
