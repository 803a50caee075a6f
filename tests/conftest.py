"""Fixtures of all tests."""

from __future__ import annotations

import pytest

from tabgrad.gpu.device import Device
from tests.helpers import opened


@pytest.fixture
def device() -> Device:
    """Native WebGPU, as the current device. A machine without an adapter fails here."""
    return opened("webgpu")


@pytest.fixture
def numpy_device() -> Device:
    """The NumPy device, as the current device."""
    return opened("numpy")
