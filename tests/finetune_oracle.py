"""The same steps of a fine-tune by PyTorch: Transformers, and peft for adapters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from tabgrad.data.source import IGNORED, Batch, BatchSource
from tabgrad.train.finetune_settings import FineTuneSettings


def model_of(folder: Path, settings: FineTuneSettings,
             adapter: Mapping[str, np.ndarray] | None) -> torch.nn.Module:
    """The base in float32, with the adapter that we began with where one is trained.

    Args:
        folder: of the base.
        settings: method, rank, scale and modules.
        adapter: `Adapter.state()` before the first step.
    """
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                 attn_implementation="eager")
    if adapter is None:
        return model
    lora = settings.lora
    modules = lora.target_modules
    tuned = get_peft_model(model, LoraConfig(
        r=lora.r, lora_alpha=lora.lora_alpha, use_rslora=lora.use_rslora, task_type="CAUSAL_LM",
        target_modules=modules if isinstance(modules, str) else list(modules)))
    named = {name.replace(".weight", ".default.weight"): torch.tensor(array)
             for name, array in adapter.items()}
    found = tuned.load_state_dict(named, strict=False)
    assert not found.unexpected_keys and not [name for name in found.missing_keys
                                              if "lora" in name]
    return tuned


def losses(model: torch.nn.Module, source: BatchSource, settings: FineTuneSettings) -> list[float]:
    """AdamW by PyTorch over the steps of a run: the loss of each, before its update."""
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": [one for one in trained if one.ndim > 1],
          "weight_decay": settings.weight_decay},
         {"params": [one for one in trained if one.ndim == 1], "weight_decay": 0.0}],
        betas=(settings.adam_beta1, settings.adam_beta2), eps=settings.adam_epsilon)
    found = []
    for step in range(settings.max_steps):
        micro_batches, rows = (settings.gradient_accumulation_steps,
                               settings.per_device_train_batch_size)
        counted = source.trained_in(step, micro_batches, rows)
        optimizer.zero_grad()
        total = 0.0
        for micro in range(micro_batches):
            loss = _sum(model, source.batch(step, micro, rows)) / counted
            loss.backward()
            total += loss.item()
        if settings.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(trained, settings.max_grad_norm)
        for group in optimizer.param_groups:
            group["lr"] = settings.rate(step)
        optimizer.step()
        found.append(total)
    return found


def _sum(model: torch.nn.Module, batch: Batch) -> Any:
    """Sum of the losses of the targets that count; documents do not see each other."""
    starts = torch.tensor(batch.starts.astype(np.int64))                  # (B, T)
    place = torch.arange(starts.shape[1])
    seen = (place[None, None, :] <= place[None, :, None]) & (
        place[None, None, :] >= starts[:, :, None])                       # (B, T, T)
    mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)[:, None]
    logits = model(input_ids=torch.tensor(batch.ids.astype(np.int64)), attention_mask=mask,
                   position_ids=place[None] - starts).logits              # (B, T, V)
    targets = torch.tensor(batch.targets.astype(np.int64))
    targets[targets == IGNORED] = -100
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(),
                                             ignore_index=-100, reduction="sum")
