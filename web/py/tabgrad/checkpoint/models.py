"""Models on disk."""

from __future__ import annotations

from tabgrad.checkpoint.shards import StoredTensor
from tabgrad.checkpoint.stored_model import StoredModel, open_folder

__all__ = ["StoredModel", "StoredTensor", "open_folder"]
