"""Tensor names of Hugging Face's files and of our decoder: one table for each family.

Our names are Llama's, which most families share. Where a family differs, its table says how:

- GPT-2 stores linear weights as Conv1D, (in, out); ours are (out, in) as in torch.nn.Linear, so
  that a row is one output and a kernel reads it in one sweep. Hence `TRANSPOSED`.
- GPT-2 and Phi-3 keep queries, keys and values in one tensor, Phi-3 gate and up as well; ours have
  names of their own, which LoRA and the inspector use. They stay neighbours in memory.
- Qwen3.5 interleaves each query head with its gate; ours are two matrices (`GATED_HEADS`), so
  that the queries lie beside keys and values as in every other family.
- Experts have a file tensor each; ours are stacked, so that one kernel finds each by its number.
- A tied head has no tensor of its own.

A tensor of the file that no row and no skip names is refused: a model that is read in part speaks
fluent nonsense.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tabgrad.errors import CheckpointError
from tabgrad.models.recipe import Recipe

Shape = tuple[int, ...]
SAME, TRANSPOSED, GATED_HEADS = "same", "transposed", "gated heads"


@dataclass(frozen=True)
class Row:
    """One tensor of the file and what it holds of ours.

    Args:
        file: its name; `N` stands for every layer, `E` for every expert.
        ours: the parameters that it holds, one after the other; `[E,1]` picks a part of one.
        layout: SAME, TRANSPOSED or GATED_HEADS.
    """

    file: str
    ours: tuple[str, ...]
    layout: str = SAME


@dataclass(frozen=True)
class Family:
    """The rows in which a family differs from our names, and what may be left unread.

    Args:
        rows: the differences.
        skipped: expressions of file tensors that the decoder does not need.
        prefixes: (of the file, what it becomes), tried in order.
    """

    rows: tuple[Row, ...] = ()
    skipped: tuple[str, ...] = ()
    prefixes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Piece:
    """A run of numbers: `count` of the file's tensor from `source` on, to `target` of ours."""

    parameter: str
    target: int
    source: int
    count: int


@dataclass(frozen=True)
class Placement:
    """Where one tensor of a file goes.

    Args:
        file: its name in the file.
        shape: that it must have there.
        pieces: in the order of our parameters; of the transposed tensor where `transposed`.
        transposed: whether it is stored (in, out).
    """

    file: str
    shape: Shape
    pieces: tuple[Piece, ...]
    transposed: bool


def _pair(file: str, ours: str, layout: str = SAME) -> tuple[Row, Row]:
    """A weight and its bias."""
    return (Row(f"{file}.weight", (f"{ours}.weight",), layout),
            Row(f"{file}.bias", (f"{ours}.bias",)))


def _joined(file: str, block: str, parts: Sequence[str], layout: str = SAME) -> tuple[Row, Row]:
    """A weight and a bias that hold several of ours."""
    weights = tuple(f"{block}.{part}.weight" for part in parts)
    biases = tuple(f"{block}.{part}.bias" for part in parts)
    return Row(f"{file}.weight", weights, layout), Row(f"{file}.bias", biases)


LAYER, GPT2_LAYER = "model.layers.N", "transformer.h.N"
QKV = ("q_proj", "k_proj", "v_proj")
_EXPERTS = f"{LAYER}.mlp.experts"

GPT2 = Family(
    rows=(Row("transformer.wte.weight", ("model.embed_tokens.weight",)),
          Row("transformer.wpe.weight", ("model.embed_positions.weight",)),
          *_pair(f"{GPT2_LAYER}.ln_1", f"{LAYER}.input_layernorm"),
          *_joined(f"{GPT2_LAYER}.attn.c_attn", f"{LAYER}.self_attn", QKV, TRANSPOSED),
          *_pair(f"{GPT2_LAYER}.attn.c_proj", f"{LAYER}.self_attn.o_proj", TRANSPOSED),
          *_pair(f"{GPT2_LAYER}.ln_2", f"{LAYER}.post_attention_layernorm"),
          *_pair(f"{GPT2_LAYER}.mlp.c_fc", f"{LAYER}.mlp.up_proj", TRANSPOSED),
          *_pair(f"{GPT2_LAYER}.mlp.c_proj", f"{LAYER}.mlp.down_proj", TRANSPOSED),
          *_pair("transformer.ln_f", "model.norm")),
    # Masks that early versions of Transformers saved with the weights.
    skipped=(r"transformer\.h\.\d+\.attn\.(masked_)?bias",),
    # The first GPT-2 files have no prefix.
    prefixes=(("wte.", "transformer.wte."), ("wpe.", "transformer.wpe."),
              ("h.", "transformer.h."), ("ln_f.", "transformer.ln_f.")))

PHI = Family(
    rows=(*_pair(f"{LAYER}.self_attn.dense", f"{LAYER}.self_attn.o_proj"),
          *_pair(f"{LAYER}.mlp.fc1", f"{LAYER}.mlp.up_proj"),
          *_pair(f"{LAYER}.mlp.fc2", f"{LAYER}.mlp.down_proj"),
          *_pair("model.final_layernorm", "model.norm")))

PHI3 = Family(
    rows=(*_joined(f"{LAYER}.self_attn.qkv_proj", f"{LAYER}.self_attn", QKV),
          *_joined(f"{LAYER}.mlp.gate_up_proj", f"{LAYER}.mlp", ("gate_proj", "up_proj"))))

MIXTRAL = Family(
    rows=(Row(f"{LAYER}.block_sparse_moe.gate.weight", (f"{LAYER}.mlp.gate.weight",)),
          *(Row(f"{LAYER}.block_sparse_moe.experts.E.{name}.weight", (f"{_EXPERTS}.{ours}",))
            for name, ours in (("w1", "gate_up_proj[E,0]"), ("w3", "gate_up_proj[E,1]"),
                               ("w2", "down_proj[E]")))))

QWEN3_MOE = Family(
    rows=tuple(Row(f"{_EXPERTS}.E.{name}.weight", (f"{_EXPERTS}.{ours}",))
               for name, ours in (("gate_proj", "gate_up_proj[E,0]"),
                                  ("up_proj", "gate_up_proj[E,1]"),
                                  ("down_proj", "down_proj[E]"))))

QWEN3_5 = Family(
    rows=(Row(f"{LAYER}.self_attn.q_proj.weight",
              (f"{LAYER}.self_attn.q_proj.weight", f"{LAYER}.self_attn.g_proj.weight"),
              GATED_HEADS),
          Row(f"{LAYER}.self_attn.q_proj.bias",
              (f"{LAYER}.self_attn.q_proj.bias", f"{LAYER}.self_attn.g_proj.bias"), GATED_HEADS)),
    # The tower of the images, and the layer that guesses two tokens ahead.
    skipped=(r"model\.visual\..*", r"mtp\..*"),
    prefixes=(("model.language_model.", "model."),))

FAMILIES = {"gpt2": GPT2, "llama": Family(), "mistral": Family(), "qwen2": Family(),
            "qwen3": Family(), "gemma3_text": Family(), "phi": PHI, "phi3": PHI3,
            "qwen3_5_text": QWEN3_5, "mixtral": MIXTRAL, "qwen3_moe": QWEN3_MOE}
# Frequencies that early versions of Transformers saved with the weights: ours come from the config.
ALWAYS_SKIPPED = (r".*\.rotary_emb\.inv_freq",)


def placements(recipe: Recipe, parameters: Mapping[str, Shape]) -> list[Placement]:
    """Where every tensor of a family's file goes; each number of ours exactly once.

    Args:
        recipe: of the decoder.
        parameters: name -> shape of all its parameters.

    Raises:
        CheckpointError: a table that leaves a parameter out: a fault of ours.
    """
    found, covered = [], dict.fromkeys(parameters, 0)
    for row in _expanded(recipe):
        if all(_base(name) in parameters for name in row.ours):
            found.append(_place(row, recipe, parameters))
            for piece in found[-1].pieces:
                covered[piece.parameter] += piece.count
    for name, shape in parameters.items():
        if not covered[name]:
            found.append(_place(Row(name, (name,)), recipe, parameters))
        elif covered[name] != _count(shape):
            raise CheckpointError(f"{name} is only filled in part.", expected=str(_count(shape)),
                                  received=str(covered[name]))
    return found


def canonical(recipe: Recipe, names: Iterable[str]) -> dict[str, str]:
    """A file's names without the prefixes that only some files of the family have.

    Tensors that the decoder does not need are left out: `Family.skipped`, and a tied head.

    Returns:
        name in the table -> name in the file.

    Raises:
        CheckpointError: two tensors of the file are the same one.
    """
    family = FAMILIES[recipe.model_type]
    result: dict[str, str] = {}
    for name in names:
        known = name
        for prefix, instead in family.prefixes:
            if known.startswith(prefix):
                known = instead + known[len(prefix):]
                break
        tied = recipe.tie_word_embeddings and known == "lm_head.weight"
        skipped = (*family.skipped, *ALWAYS_SKIPPED)
        if tied or any(re.fullmatch(pattern, known) for pattern in skipped):
            continue
        if known in result:
            raise CheckpointError("Two tensors of this checkpoint are the same one.",
                                  received=f"{result[known]} and {name}")
        result[known] = name
    return result


def _expanded(recipe: Recipe) -> Iterator[Row]:
    experts = recipe.experts.num_experts if recipe.experts else 0
    for row in FAMILIES[recipe.model_type].rows:
        layers = range(recipe.num_hidden_layers) if ".N." in row.file else (0,)
        for layer in layers:
            one = _numbered(row, ".N.", f".{layer}.")
            if ".E." not in row.file:
                yield one
                continue
            for expert in range(experts):
                numbered = _numbered(one, ".E.", f".{expert}.")
                yield replace(numbered, ours=tuple(re.sub(r"\[E", f"[{expert}", name)
                                                   for name in numbered.ours))


def _numbered(row: Row, mark: str, number: str) -> Row:
    return replace(row, file=row.file.replace(mark, number),
                   ours=tuple(name.replace(mark, number) for name in row.ours))


def _base(name: str) -> str:
    return name.partition("[")[0]


def _place(row: Row, recipe: Recipe, parameters: Mapping[str, Shape]) -> Placement:
    parts = [_part(name, parameters[_base(name)]) for name in row.ours]
    shapes = [shape for _, shape in parts]
    if row.layout == GATED_HEADS:
        return Placement(row.file, _stacked(shapes), _gated(row, shapes[0], recipe), False)
    pieces, source = [], 0
    for name, (start, shape) in zip(row.ours, parts, strict=True):
        pieces.append(Piece(_base(name), start, source, _count(shape)))
        source += _count(shape)
    shape = _stacked(shapes)
    transposed = row.layout == TRANSPOSED
    return Placement(row.file, shape[::-1] if transposed else shape, tuple(pieces), transposed)


def _part(name: str, shape: Shape) -> tuple[int, Shape]:
    """First element and shape of `parameter`, or of a part of it: `parameter[2]`, `[2,1]`.

    The second number counts halves of the next axis.
    """
    match = re.search(r"\[(\d+)(?:,(\d))?\]$", name)
    if not match:
        return 0, shape
    start, inner = int(match[1]) * _count(shape[1:]), shape[1:]
    if match[2]:
        inner = (inner[0] // 2, *inner[1:])
        start += int(match[2]) * _count(inner)
    return start, inner


def _gated(row: Row, shape: Shape, recipe: Recipe) -> tuple[Piece, ...]:
    """Head by head: D rows of queries, then D rows of their gates."""
    head = recipe.head_dim * _count(shape[1:])
    return tuple(Piece(name, number * head, (2 * number + which) * head, head)
                 for which, name in enumerate(row.ours)
                 for number in range(recipe.num_attention_heads))


def _stacked(shapes: Sequence[Shape]) -> Shape:
    return (sum(shape[0] for shape in shapes), *shapes[0][1:])


def _count(shape: Shape) -> int:
    count = 1
    for axis in shape:
        count *= axis
    return count
