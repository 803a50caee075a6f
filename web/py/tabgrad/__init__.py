"""tabgrad: train, load and explain language models on WebGPU, in Python you can read."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tabgrad import nn, ops, optim
    from tabgrad.autograd import no_grad
    from tabgrad.generate.load import load
    from tabgrad.gpu.device import Device, current_device, open_device, use_device
    from tabgrad.tensor import Tensor

__all__ = ["Device", "Tensor", "current_device", "load", "nn", "no_grad", "open_device", "ops",
           "optim", "use_device"]

_HOMES = {"Tensor": "tabgrad.tensor", "no_grad": "tabgrad.autograd",
          "load": "tabgrad.generate.load",
          "Device": "tabgrad.gpu.device", "current_device": "tabgrad.gpu.device",
          "open_device": "tabgrad.gpu.device", "use_device": "tabgrad.gpu.device"}


def __getattr__(name: str) -> object:
    """Imports a public name at its first use: `import tabgrad.errors` alone stays light."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"tabgrad.{name}")
    raise AttributeError(f"module 'tabgrad' has no attribute {name!r}")
