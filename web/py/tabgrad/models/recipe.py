"""Recipe: the numbers that describe a decoder, under the names of Hugging Face's config.json."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tabgrad.errors import SettingsError

SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
         "num_key_value_heads", "intermediate_size", "max_position_embeddings")


@dataclass(frozen=True)
class Recipe:
    """A pre-norm decoder with learned positions.

    Args:
        vocab_size: V, the number of different ids.
        hidden_size: C, the width of the residual stream.
        num_hidden_layers: the number of blocks.
        num_attention_heads: H, the heads that ask; C is a multiple of it.
        num_key_value_heads: the heads that answer; H is a multiple of it.
        intermediate_size: the width inside the MLP.
        max_position_embeddings: the longest context, in ids.
        hidden_act: the MLP's activation; "gelu_new" is GELU in its tanh form.
        norm_eps: added to the variance in each layer norm.
        tie_word_embeddings: whether the head is the embedding table.
        initializer_range: standard deviation of the initial weights.

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

    def __post_init__(self) -> None:
        for name in SIZES:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise SettingsError(f"{name} is not a size.", expected="a whole number above 0",
                                    received=repr(value), control=name)
        self._divides("num_attention_heads", "hidden_size")
        self._divides("num_key_value_heads", "num_attention_heads")
        if self.hidden_act != "gelu_new":
            raise SettingsError("This activation is not built in.", expected="gelu_new",
                                received=repr(self.hidden_act), control="hidden_act")
        for name in ("norm_eps", "initializer_range"):
            if not 0 < getattr(self, name) < 1:
                raise SettingsError(f"{name} is out of range.", expected="between 0 and 1",
                                    received=repr(getattr(self, name)), control=name)

    def _divides(self, divisor: str, dividend: str) -> None:
        if getattr(self, dividend) % getattr(self, divisor):
            raise SettingsError(f"{dividend} must be a multiple of {divisor}.",
                                expected=f"a multiple of {getattr(self, divisor)}",
                                received=str(getattr(self, dividend)), control=dividend)

    @property
    def head_dim(self) -> int:
        """D, the width of one head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def parameter_count(self) -> int:
        """The number of trained numbers, from the sizes alone.

        Example:
            >>> PRESETS["byte-tinygpt"].parameter_count
            842496
        """
        c, f = self.hidden_size, self.intermediate_size
        kv = self.num_key_value_heads * self.head_dim
        attention = 2 * (c * c + c) + 2 * (kv * c + kv)
        mlp = f * c + f + c * f + c
        norms = 2 * 2 * c
        tables = (self.vocab_size + self.max_position_embeddings) * c
        head = 0 if self.tie_word_embeddings else self.vocab_size * c
        return tables + self.num_hidden_layers * (attention + mlp + norms) + 2 * c + head


PRESETS = {
    "byte-tinygpt": Recipe(vocab_size=256, hidden_size=128, num_hidden_layers=4,
                           num_attention_heads=4, num_key_value_heads=4, intermediate_size=512,
                           max_position_embeddings=128),
    "tiny": Recipe(vocab_size=256, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                   num_key_value_heads=2, intermediate_size=256, max_position_embeddings=64),
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


FIELD_NAMES = tuple(field.name for field in fields(Recipe))
