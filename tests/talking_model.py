"""A tiny random checkpoint that has a tokenizer and a chat template, as a folder of the hub."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from tests import checkpoints
from tools.corpora import OWN_TEXT

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
VOCABULARY = 512
TEMPLATE = (
    "{% if tools %}<|im_start|>system\nTools: {{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}{{ call.function.name }}"
    "({{ call.function.arguments | tojson }}){% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def save(folder: Path, **changes: object) -> Path:
    """Writes the checkpoint: Llama-shaped, seeded, in several shards.

    Args:
        folder: where the model's own folder is made.
        changes: of its config.
    """
    path = checkpoints.save("llama", folder, vocab_size=VOCABULARY, max_position_embeddings=2048,
                            bos_token_id=0, eos_token_id=2, pad_token_id=0, **changes)
    _tokenizer().save(str(path / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": SPECIAL[0],
                "eos_token": SPECIAL[2], "chat_template": TEMPLATE}
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    (path / "README.md").write_text("---\nlicense: apache-2.0\n---\nRandom weights, for tests.\n")
    return path


def _tokenizer() -> Tokenizer:
    """Byte-level BPE, trained on the text that the page comes with."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.train_from_iterator([OWN_TEXT.read_text(encoding="utf-8")], BpeTrainer(
        vocab_size=VOCABULARY, initial_alphabet=ByteLevel.alphabet(), show_progress=False,
        special_tokens=[AddedToken(text, special=True) for text in SPECIAL]))
    assert tokenizer.get_vocab_size() == VOCABULARY
    return tokenizer
