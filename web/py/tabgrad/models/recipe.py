"""Recipe: what a decoder is made of, under the names of Hugging Face's config.json."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tabgrad.errors import SettingsError
from tabgrad.models.rotary import RotaryParameters

SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
         "num_key_value_heads", "intermediate_size", "max_position_embeddings", "head_dim")
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
CHOICES = {
    "norm": ("layer", "rms"),
    "block": ("sequential", "parallel", "sandwich"),
    "hidden_act": ("gelu_new", "silu"),
    "position_embedding": ("learned", "rotary"),
}


@dataclass(frozen=True)
class LinearAttention:
    """The sizes of a Gated DeltaNet layer, as Qwen3.5 names them.

    Args:
        num_key_heads: HK, the heads of queries and keys.
        num_value_heads: HV, a multiple of HK; each has a state of its own.
        key_head_dim: DK.
        value_head_dim: DV.
        conv_kernel_dim: positions that the short convolution sees.
    """

    num_key_heads: int
    num_value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel_dim: int

    def __post_init__(self) -> None:
        if min(vars(self).values()) < 1 or self.num_value_heads % self.num_key_heads:
            raise SettingsError("The linear layers have sizes that do not fit.",
                                expected="value heads that are a multiple of the key heads",
                                received=f"{self.num_value_heads} and {self.num_key_heads}")
        if self.key_head_dim % 4 or self.value_head_dim % 4:
            raise SettingsError("The linear layers have heads that are not computed.",
                                expected="multiples of four channels",
                                received=f"{self.key_head_dim} and {self.value_head_dim}")


@dataclass(frozen=True)
class Experts:
    """The sizes of a mixture of experts.

    Args:
        num_experts: E.
        num_experts_per_tok: how many of them each position asks.
        intermediate_size: F, the width inside one.
        norm_topk_prob: whether the weights of those that are asked add up to 1.
        dense_layers: numbers of the layers that have a plain MLP instead.
        router_aux_loss_coef: what the load-balancing loss is worth while training; 0 for none.
    """

    num_experts: int
    num_experts_per_tok: int
    intermediate_size: int
    norm_topk_prob: bool = True
    dense_layers: tuple[int, ...] = ()
    router_aux_loss_coef: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.num_experts_per_tok <= self.num_experts:
            raise SettingsError("A position asks at least one expert and at most all.",
                                expected=f"num_experts_per_tok from 1 to {self.num_experts}",
                                received=str(self.num_experts_per_tok))


@dataclass(frozen=True)
class Recipe:
    """A decoder: the first seven are sizes, the others say how its parts are built.

    Args:
        vocab_size: V, the number of different ids.
        hidden_size: C, the width of the residual stream.
        num_hidden_layers: the number of blocks.
        num_attention_heads: H, the heads that ask.
        num_key_value_heads: the heads that answer; H is a multiple of it.
        intermediate_size: F, the width inside the MLP.
        max_position_embeddings: the longest context, in ids.
        hidden_act: the MLP's activation; "gelu_new" is GELU in its tanh form.
        norm_eps: added to the variance in each norm.
        tie_word_embeddings: whether the head is the embedding table.
        initializer_range: standard deviation of the initial weights.
        model_type: Hugging Face's name of the family, which names the tensors of its files.
        head_dim: D, the width of one head; C / H if 0.
        norm: "layer" or "rms".
        norm_offset: added to the gains of RMS norms (Gemma and Qwen3.5 store gain - 1).
        block: "sequential" (attention, then MLP), "parallel" (both read one norm), "sandwich" (a
            norm before and after each).
        gated_mlp: down(act(gate) * up) instead of down(act(up)).
        attention_bias: of queries, keys and values.
        output_bias: of the attention's output projection.
        mlp_bias: of the MLP's matrices.
        head_bias: of the head.
        position_embedding: "learned" or "rotary".
        rotary: how queries and keys turn, for each kind of attention layer.
        qk_norm: whether each query and key head is normalised first.
        query_pre_attn_scalar: scores are divided by its square root; D if None.
        sliding_window: W, how many positions a sliding layer sees.
        layer_types: the kind of each layer; all full if empty.
        attention_gate: whether a gate scales the attention's output (Qwen3.5).
        linear_attention: sizes of the linear layers, if there are any.
        experts: the MLPs are mixtures of experts.
        embedding_scale: multiplies the embedded ids.
        final_logit_softcapping: cap of cap · tanh(logits / cap); None for no cap.

    Raises:
        SettingsError: names the field that is wrong.

    Example:
        >>> PRESETS["tiny"].head_dim
        32
    """

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    intermediate_size: int
    max_position_embeddings: int
    hidden_act: str = "gelu_new"
    norm_eps: float = 1e-5
    tie_word_embeddings: bool = True
    initializer_range: float = 0.02
    model_type: str = "gpt2"
    head_dim: int = 0
    norm: str = "layer"
    norm_offset: float = 0.0
    block: str = "sequential"
    gated_mlp: bool = False
    attention_bias: bool = True
    output_bias: bool = True
    mlp_bias: bool = True
    head_bias: bool = False
    position_embedding: str = "learned"
    rotary: tuple[tuple[str, RotaryParameters], ...] = ()
    qk_norm: bool = False
    query_pre_attn_scalar: float | None = None
    sliding_window: int = 0
    layer_types: tuple[str, ...] = ()
    attention_gate: bool = False
    linear_attention: LinearAttention | None = None
    experts: Experts | None = None
    embedding_scale: float = 1.0
    final_logit_softcapping: float | None = None

    def __post_init__(self) -> None:
        if not self.head_dim:
            self._divides("num_attention_heads", "hidden_size")
            object.__setattr__(self, "head_dim", self.hidden_size // self.num_attention_heads)
        for name in SIZES:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise SettingsError(f"{name} is not a size.", expected="a whole number above 0",
                                    received=repr(value), control=name)
        self._divides("num_key_value_heads", "num_attention_heads")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise SettingsError(f"This {name} is not built in.", expected=" or ".join(choices),
                                    received=repr(getattr(self, name)), control=name)
        for name in ("norm_eps", "initializer_range"):
            if not 0 < getattr(self, name) < 1:
                raise SettingsError(f"{name} is out of range.", expected="between 0 and 1",
                                    received=repr(getattr(self, name)), control=name)
        if not self.layer_types:
            object.__setattr__(self, "layer_types", (FULL,) * self.num_hidden_layers)
        self._check_layers()

    def _divides(self, divisor: str, dividend: str) -> None:
        small, large = getattr(self, divisor), getattr(self, dividend)
        if not isinstance(small, int) or small < 1 or large % small:
            raise SettingsError(f"{dividend} must be a multiple of {divisor}.",
                                expected=f"a multiple of {small}", received=str(large),
                                control=dividend)

    def _check_layers(self) -> None:
        kinds = set(self.layer_types)
        if len(self.layer_types) != self.num_hidden_layers or kinds - {FULL, SLIDING, LINEAR}:
            raise SettingsError("layer_types names the kind of each layer.", control="layer_types",
                                expected=f"{self.num_hidden_layers} of {FULL}, {SLIDING}, {LINEAR}",
                                received=repr(self.layer_types))
        if SLIDING in kinds and self.sliding_window < 1:
            raise SettingsError("A sliding layer needs a window.", control="sliding_window",
                                expected="sliding_window above 0",
                                received=repr(self.sliding_window))
        if LINEAR in kinds and self.linear_attention is None:
            raise SettingsError("A linear layer needs its sizes.", control="linear_attention",
                                expected="linear_attention", received="None")
        if self.position_embedding == "rotary" and (kinds - {LINEAR}) - set(dict(self.rotary)):
            raise SettingsError("A rotary layer needs its frequencies.", control="rotary",
                                expected=", ".join(sorted(kinds)),
                                received=", ".join(dict(self.rotary)) or "none")

    @property
    def attention_scale(self) -> float:
        """What scores are multiplied by: 1 / sqrt(D), unless the model says otherwise."""
        return 1.0 / math.sqrt(self.query_pre_attn_scalar or self.head_dim)

    def window(self, layer: int) -> int:
        """How many positions an attention layer sees; 0 for all."""
        return self.sliding_window if self.layer_types[layer] == SLIDING else 0

    def has_experts(self, layer: int) -> bool:
        """Whether a layer's MLP is a mixture of experts."""
        return self.experts is not None and layer not in self.experts.dense_layers


def _gpt(vocab_size: int, hidden_size: int, layers: int) -> Recipe:
    """GPT-2's parts, with a context of 256 and heads of 64 channels."""
    heads = hidden_size // 64
    return Recipe(vocab_size=vocab_size, hidden_size=hidden_size, num_hidden_layers=layers,
                  num_attention_heads=heads, num_key_value_heads=heads,
                  intermediate_size=4 * hidden_size, max_position_embeddings=256)


def _modern(rope_positions: int, head_dim: int, **parts: Any) -> Recipe:
    """What Llama and Mixtral have in common: RMS norms, rotary positions, SwiGLU, no biases."""
    rotary = RotaryParameters("default", 10_000.0, head_dim, rope_positions, rope_positions)
    return Recipe(**{
        "max_position_embeddings": rope_positions, "hidden_act": "silu", "norm_eps": 1e-6,
        "norm": "rms", "gated_mlp": True, "attention_bias": False, "output_bias": False,
        "mlp_bias": False, "position_embedding": "rotary", "rotary": ((FULL, rotary),), **parts})


PRESETS = {
    "byte-tinygpt": Recipe(vocab_size=256, hidden_size=128, num_hidden_layers=4,
                           num_attention_heads=4, num_key_value_heads=4, intermediate_size=512,
                           max_position_embeddings=128),
    "tiny": Recipe(vocab_size=256, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                   num_key_value_heads=2, intermediate_size=256, max_position_embeddings=64),
    "byte-gpt-5m": _gpt(256, 256, 6),
    "byte-gpt-15m": _gpt(256, 384, 8),
    "bpe-gpt-5m": _gpt(4096, 256, 5),
    "bpe-gpt-15m": _gpt(8192, 384, 7),
    "llama-5m": _modern(256, 32, vocab_size=4096, hidden_size=256, num_hidden_layers=5,
                        num_attention_heads=8, num_key_value_heads=4, intermediate_size=704,
                        model_type="llama"),
    "moe-5m": _modern(256, 32, vocab_size=256, hidden_size=192, num_hidden_layers=4,
                      num_attention_heads=6, num_key_value_heads=2, intermediate_size=256,
                      model_type="mixtral", experts=Experts(8, 2, 256, router_aux_loss_coef=0.01)),
    # A Mixtral of 4,596 parameters, which learns one sentence: docs/readable_llm.md.
    "readable-llm": _modern(
        32, 2, vocab_size=12, hidden_size=12, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=3, intermediate_size=16, model_type="mixtral",
        experts=Experts(num_experts=3, num_experts_per_tok=2, intermediate_size=16)),
}


def preset(name: str) -> Recipe:
    """The preset of that name.

    Raises:
        SettingsError: there is none.
    """
    if name not in PRESETS:
        raise SettingsError("Unknown preset.", expected=" or ".join(PRESETS), received=repr(name),
                            control="preset")
    return PRESETS[name]
