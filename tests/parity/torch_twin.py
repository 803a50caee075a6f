"""The decoder once more, in plain torch.nn: the oracle of the parity tests, here and in Chromium.

Nothing of tabgrad is imported. Parameters have tabgrad's names, so that states carry over as they
are: Linear weights are (out, in) in both.

    python tests/parity/torch_twin.py OUT.npz --preset tiny --steps 10

writes `make_golden`'s result for a harness that has no torch beside it.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SHAPES = {  # vocabulary, context, width, layers, heads, MLP width
    "byte-tinygpt": (256, 128, 128, 4, 4, 512),
    "tiny": (256, 64, 64, 2, 2, 256),
}
TEXT = ("To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer the "
        "slings and arrows of outrageous fortune, or to take arms against a sea of troubles. ")


class TwinAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.o_proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, C = x.shape

        def per_head(y: torch.Tensor) -> torch.Tensor:
            return y.view(B, T, self.heads, C // self.heads).transpose(1, 2)

        q, k, v = per_head(self.q_proj(x)), per_head(self.k_proj(x)), per_head(self.v_proj(x))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).reshape(B, T, C))


class TwinMLP(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.up_proj = nn.Linear(width, inner)
        self.down_proj = nn.Linear(inner, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.gelu(self.up_proj(x), approximate="tanh"))


class TwinBlock(nn.Module):
    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.input_layernorm = nn.LayerNorm(width)
        self.self_attn = TwinAttention(width, heads)
        self.post_attention_layernorm = nn.LayerNorm(width)
        self.mlp = TwinMLP(width, inner)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Twin(nn.Module):
    """The whole model with a tied head."""

    def __init__(self, preset: str) -> None:
        super().__init__()
        vocabulary, context, width, layers, heads, inner = SHAPES[preset]
        self.context = context
        self.model = nn.ModuleDict({
            "embed_tokens": nn.Embedding(vocabulary, width),
            "embed_positions": nn.Embedding(context, width),
            "layers": nn.ModuleList(TwinBlock(width, heads, inner) for _ in range(layers)),
            "norm": nn.LayerNorm(width)})

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        t = self.model
        x = t["embed_tokens"](ids) + t["embed_positions"](torch.arange(ids.shape[1]))
        for block in t["layers"]:
            x = block(x)
        return t["norm"](x) @ t["embed_tokens"].weight.T

    def loss(self, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self(ids).flatten(0, 1), targets.flatten())


@dataclass
class Golden:
    """A short training run of the twin.

    state, gradients, final: name -> float32 array: initial values, d(loss)/d(value) of the first
    batch (before clipping), values after the last step. ids, targets: (steps, B, T) uint32.
    """

    preset: str
    learning_rate: float
    betas: tuple[float, float]
    epsilon: float
    weight_decay: float
    max_grad_norm: float
    ids: np.ndarray
    targets: np.ndarray
    state: dict[str, np.ndarray] = field(default_factory=dict)
    gradients: dict[str, np.ndarray] = field(default_factory=dict)
    final: dict[str, np.ndarray] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)


def make_batches(steps: int, batch_size: int, context: int, seed: int
                 ) -> tuple[np.ndarray, np.ndarray]:
    """Windows of a sentence: (steps, B, T) ids and the ids that follow, uint32."""
    data = np.frombuffer((TEXT * 4).encode(), np.uint8)
    starts = np.random.default_rng(seed).integers(0, len(data) - context, (steps, batch_size, 1))
    windows = data[starts + np.arange(context + 1)].astype(np.uint32)
    return windows[..., :-1].copy(), windows[..., 1:].copy()


def make_golden(preset: str = "tiny", steps: int = 10, batch_size: int = 4,
                context: int | None = None, seed: int = 0, init_scale: float = 0.02) -> Golden:
    """Trains the twin for some steps of AdamW with clipping and two decay groups.

    Biases and gains start away from 0 and 1, so that no gradient path is idle.
    """
    torch.manual_seed(seed)
    twin = Twin(preset)
    with torch.no_grad():
        for name, parameter in twin.named_parameters():
            center = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            parameter.copy_(center + init_scale * torch.randn(parameter.shape))
    ids, targets = make_batches(steps, batch_size, context or twin.context, seed)
    golden = Golden(preset, 3e-4, (0.9, 0.95), 1e-8, 0.1, 1.0, ids, targets)
    golden.state = snapshot(twin)
    matrices = [p for p in twin.parameters() if p.ndim == 2]
    vectors = [p for p in twin.parameters() if p.ndim == 1]
    adamw = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": golden.weight_decay},
         {"params": vectors, "weight_decay": 0.0}],
        lr=golden.learning_rate, betas=golden.betas, eps=golden.epsilon)
    for step in range(steps):
        adamw.zero_grad()
        loss = twin.loss(torch.tensor(ids[step].astype(np.int64)),
                         torch.tensor(targets[step].astype(np.int64)))
        loss.backward()
        if step == 0:
            golden.gradients = {name: p.grad.numpy().copy()
                                for name, p in twin.named_parameters()}
        norm = nn.utils.clip_grad_norm_(twin.parameters(), golden.max_grad_norm)
        adamw.step()
        golden.losses.append(loss.item())
        golden.norms.append(norm.item())
    golden.final = snapshot(twin)
    return golden


def snapshot(twin: nn.Module) -> dict[str, np.ndarray]:
    """The parameters by name, copied."""
    return {name: p.detach().numpy().copy() for name, p in twin.named_parameters()}


def twin_from(state: dict[str, np.ndarray], preset: str) -> Twin:
    """A twin with these parameters."""
    twin = Twin(preset)
    twin.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
    return twin


def save_golden(golden: Golden, path: Path) -> None:
    """Writes it as .npz: arrays `ids`, `targets`, `losses`, `norms`, `settings` (learning rate,
    beta1, beta2, epsilon, weight decay, largest norm), and `state/NAME`, `gradients/NAME`,
    `final/NAME`."""
    groups = {"state": golden.state, "gradients": golden.gradients, "final": golden.final}
    arrays = {f"{group}/{name}": array for group, state in groups.items()
              for name, array in state.items()}
    settings = [golden.learning_rate, *golden.betas, golden.epsilon, golden.weight_decay,
                golden.max_grad_norm]
    np.savez(path, ids=golden.ids, targets=golden.targets, losses=np.array(golden.losses),
             norms=np.array(golden.norms), settings=np.array(settings), **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--preset", default="tiny", choices=sorted(SHAPES))
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=4)
    options = parser.parse_args()
    save_golden(make_golden(options.preset, options.steps, options.batch), options.out)


if __name__ == "__main__":
    main()
