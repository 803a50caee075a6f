"""Where documents begin in packed rows: data of a plan, bound by every kernel that looks back."""

from __future__ import annotations

import weakref

from tabgrad.errors import ShapeError
from tabgrad.gpu.device import Device, current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.spec import Shape
from tabgrad.tensor import ITEM_BYTES, Tensor

_no_starts: weakref.WeakKeyDictionary[Device, Region] = weakref.WeakKeyDictionary()


def starts_region(op: str, starts: Tensor | None, shape: Shape) -> tuple[Region, dict[str, int]]:
    """What kernels bind as starts, and the const that says whether they read it.

    Args:
        op: whose starts they are, for messages.
        starts: uint32, the first position of each one's document; None where each row is one.
        shape: (B, T).

    Raises:
        ShapeError: another shape or dtype.
    """
    if starts is None:
        return no_starts(current_device()), {}
    require_ids(op, starts)
    if starts.shape != shape:
        raise ShapeError(f"{op}: every position has a start.", expected=str(shape),
                         received=str(starts.shape))
    return starts.region, {"PACKED": 1}


def no_starts(device: Device) -> Region:
    """A buffer that stands where no starts are: written once a device, read by no kernel."""
    region = _no_starts.get(device)
    if region is None:
        region = _no_starts[device] = device.allocate(ITEM_BYTES, "no starts").region
        device.write(region, bytes(ITEM_BYTES))
    return region
