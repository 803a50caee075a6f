"""Fixtures of all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tabgrad.gpu.device import Device
from tests.helpers import opened

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("any machine")
settings.load_profile("any machine")


@pytest.fixture
def device() -> Device:
    """Native WebGPU, as the current device. A machine without an adapter fails here."""
    return opened("webgpu")


@pytest.fixture
def numpy_device() -> Device:
    """The NumPy device, as the current device."""
    return opened("numpy")
