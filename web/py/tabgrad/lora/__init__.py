"""Low-rank adapters of frozen models, with PEFT's names and files."""

from tabgrad.lora.adapter import Adapter
from tabgrad.lora.config import LoraConfig
from tabgrad.lora.targets import Target, targets

__all__ = ["Adapter", "LoraConfig", "Target", "targets"]
