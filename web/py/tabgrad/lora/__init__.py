"""Low-rank adapters of frozen models, with PEFT's names and files."""

from tabgrad.lora.adapter import Adapter
from tabgrad.lora.config import LoraConfig
from tabgrad.lora.store import AdapterRecord, AdapterStore, StoredAdapter
from tabgrad.lora.targets import Target, targets

__all__ = ["Adapter", "AdapterRecord", "AdapterStore", "LoraConfig", "StoredAdapter", "Target",
           "targets"]
