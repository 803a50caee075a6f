"""Reverse-mode differentiation: from a loss back to the leaves, one OpRecord at a time.

An op that wants to be differentiated ends with `track(...)`. Its backward function gets the
record and the Region with d(loss)/d(output), and hands on d(loss)/d(input i) in one of two ways:

    target = sink(record, i)            # None: this input needs no gradient
    if target is not None:
        region, accumulate = target     # write all of it, or add to it
        current_device().launch("gelu_backward", {"N": n, "ACCUMULATE": int(accumulate)},
                                dx=region, x=x.region, dout=gradient)

    share(record, i, gradient)          # the gradient itself, unchanged: no copy, no kernel

Ask for one sink, launch, then ask for the next: a tensor may stand at two places of an op, as in
`a * a`, and then the second launch adds to what the first one wrote.

Records keep what ops read until their backward; `checkpoint` keeps only a function's inputs.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from tabgrad.errors import ShapeError
from tabgrad.gpu.device import Device, current_device
from tabgrad.gpu.storage import Region
from tabgrad.tensor import ITEM_BYTES, Tensor

if TYPE_CHECKING:
    BackwardFunction = Callable[["OpRecord", Region], None]
    Keep = Callable[[Tensor], Callable[[], Tensor]]


class _Records(Enum):
    """What `track` does: notes how a tensor was made, nothing, or only that it will be noted."""

    NOTED = 1
    NONE = 2
    LATER = 3  # inside a checkpointed function, which will run again


_records = _Records.NOTED
_passes: list[_Pass] = []
_ones: weakref.WeakKeyDictionary[Device, Region] = weakref.WeakKeyDictionary()


class OpRecord:
    """How a tensor came about: the edge of the graph from an output to its inputs.

    Args:
        func_backward: called with this record and the Region of d(loss)/d(output).
        inputs: the tensors the op read, in the order that `sink` and `share` count them.
        output: the tensor it made. Held weakly: whoever needs it later holds it, so that a
            graph dies with its loss and gives its buffers back at once.
        op: the op's name.
        attributes: what the backward needs besides: sizes, saved Regions.
    """

    def __init__(self, func_backward: BackwardFunction, inputs: Sequence[Tensor], output: Tensor,
                 op: str, attributes: dict[str, Any]) -> None:
        self.func_backward = func_backward
        self.inputs = tuple(inputs)
        self.op = op
        self.attributes = attributes
        self._output = weakref.ref(output)

    @property
    def output(self) -> Tensor:
        """The tensor that the op made."""
        output = self._output()
        if output is None:
            raise RuntimeError(f"The output of {self.op} is gone.")
        return output


@contextmanager
def no_grad() -> Iterator[None]:
    """Inside, ops leave no records: for validation, generation and updates."""
    with _keeping(_Records.NONE):
        yield


@contextmanager
def _keeping(records: _Records) -> Iterator[None]:
    global _records
    before, _records = _records, records
    try:
        yield
    finally:
        _records = before


def leaves_records(inputs: Sequence[Tensor]) -> bool:
    """Whether an op of these inputs is recorded, now or when a checkpoint runs again."""
    return _records is not _Records.NONE and any(tensor.requires_grad for tensor in inputs)


def track(output: Tensor, op: str, func_backward: BackwardFunction, inputs: Sequence[Tensor],
          **attributes: Any) -> Tensor:
    """Ends an op: notes how `output` was made, if any input requires a gradient.

    Returns:
        `output` itself.
    """
    if leaves_records(inputs):
        output.requires_grad = True
        if _records is _Records.NOTED:
            output.record = OpRecord(func_backward, inputs, output, op, attributes)
        elif any(tensor.record is not None for tensor in inputs):
            raise ShapeError(f"checkpoint: {op} reads a tensor that is no input of the function.",
                             expected="leaves, and the inputs that were given to checkpoint",
                             received=", ".join(repr(tensor) for tensor in inputs))
    return output


def checkpoint(function: Callable[..., Tensor], *inputs: Tensor, keep: Keep | None = None,
               ) -> Tensor:
    """function(*inputs), of which only the inputs are kept for the backward.

    The function runs now without records, so what it computes on its way dies at once, and again
    in the backward, with records. Both runs launch the same kernels, so the gradients are those of
    the plain call, bit for bit.

    Args:
        function: launches the same at both calls. Leaves that it reads besides its inputs
            (parameters) get their gradients as usual.
        inputs: everything it computes from that is not a leaf.
        keep: called with each float32 input; gives what will be called for the tensor that the
            second run reads in its place (`ops.kept`: in 16 bits). None keeps the inputs.

    Raises:
        ShapeError: the function reads a tensor with a record that is not among its inputs.

    Source: Chen et al., "Training deep nets with sublinear memory cost", 2016.
    """
    if _records is not _Records.NOTED:
        return function(*inputs)  # nobody asks for gradients, or an outer function runs again
    restored = [keep(tensor) if keep and tensor.dtype == "float32" else None for tensor in inputs]
    with _keeping(_Records.LATER):
        made = function(*(Tensor(tensor.shape, tensor.dtype, tensor.region,
                                 requires_grad=tensor.requires_grad) for tensor in inputs))
    output = Tensor(made.shape, made.dtype, made.region)
    if made.requires_grad:
        output.requires_grad = True
        output.record = OpRecord(_checkpoint_backward, inputs, output, "checkpoint",
                                 {"function": function, "restored": restored})
    return output


def _checkpoint_backward(record: OpRecord, gradient: Region) -> None:
    """Runs the function again, with records, and takes their steps in the pass at work."""
    running = _current_pass(record)
    restored = zip(record.inputs, record.attributes["restored"], strict=True)
    with _keeping(_Records.NOTED):
        again = record.attributes["function"](*(
            track(restore(), "restored", _restored_backward, [tensor]) if restore else tensor
            for tensor, restore in restored))
    order = topological_order(again, until=record.inputs)
    running.hand_on(record.output, again)
    for inner in reversed(order):
        running.step(inner)


def _restored_backward(record: OpRecord, gradient: Region) -> None:
    share(record, 0, gradient)


def sink(record: OpRecord, i: int) -> tuple[Region, bool] | None:
    """Where the gradient of input `i` goes.

    Returns:
        None if that input needs no gradient; else `(region, accumulate)`. When `accumulate` is
        False the bytes are undefined and the kernel must write all of them; when it is True the
        kernel adds to them.
    """
    tensor = record.inputs[i]
    return _current_pass(record).sink(tensor) if tensor.requires_grad else None


def share(record: OpRecord, i: int, gradient: Region) -> None:
    """Hands `gradient` on to input `i` as it is; its bytes must be as many as the input's.

    Nothing is copied until somebody would add to bytes that others still read.
    """
    tensor = record.inputs[i]
    if tensor.requires_grad:
        _current_pass(record).share(tensor, gradient)


def backward(root: Tensor, gradient: Tensor | None = None) -> None:
    """Adds d(root)/d(leaf) to the `grad` of every leaf that requires it; see Tensor.backward."""
    if not root.requires_grad:
        raise ShapeError("There is nothing to differentiate: no leaf requires a gradient.",
                         expected="a tensor computed from leaves with requires_grad=True",
                         received=repr(root))
    running = _Pass()
    current_device().turn()
    running.start(root, _seed(root, gradient))
    _passes.append(running)
    try:
        for record in reversed(topological_order(root)):
            running.step(record)
    finally:
        _passes.pop()
    running.finish()


def topological_order(root: Tensor, until: Sequence[Tensor] = ()) -> list[OpRecord]:
    """Every record that `root` depends on, each after the records that made its inputs.

    Iterative, so that a deep model does not meet Python's recursion limit. The records of the
    tensors in `until`, and what is behind them, are left out.
    """
    order: list[OpRecord] = []
    seen = {id(tensor.record) for tensor in until if tensor.record}
    stack: list[tuple[OpRecord, bool]] = [(root.record, False)] if root.record else []
    while stack:
        record, inputs_done = stack.pop()
        if inputs_done:
            order.append(record)
        elif id(record) not in seen:
            seen.add(id(record))
            stack.append((record, True))
            stack.extend((tensor.record, False) for tensor in record.inputs if tensor.record)
    return order


class _Pass:
    """One backward pass: the gradients still on their way.

    `gradients` maps a tensor to the Region that gathers its gradient. Several may lie in the
    same storage after `share`; `holders` counts them, and a storage with more than one holder
    is never written. The gradient of the record at work counts too, because its kernels read it.
    """

    def __init__(self) -> None:
        self.gradients: dict[int, Region] = {}
        self.holders: Counter[int] = Counter()
        self.leaves: dict[int, Tensor] = {}

    def start(self, root: Tensor, seed: Region) -> None:
        self.holders[id(seed.storage)] += 1  # the seed stays as it is, whoever shares it
        self.share(root, seed)

    def sink(self, tensor: Tensor) -> tuple[Region, bool]:
        if tensor.record is None and tensor.grad is not None:
            return tensor.grad.region, True
        region = self.gradients.get(id(tensor))
        if region is None:
            return self._hold(tensor, _room_for(tensor)), False
        if self.holders[id(region.storage)] > 1:
            region = self._own_copy(tensor, region)
        return region, True

    def share(self, tensor: Tensor, gradient: Region) -> None:
        if gradient.size != tensor.size * ITEM_BYTES:
            raise ShapeError("A gradient has as many bytes as its tensor.",
                             expected=str(tensor.size * ITEM_BYTES), received=str(gradient.size))
        owns_grad = tensor.record is None and tensor.grad is not None
        if owns_grad or id(tensor) in self.gradients:
            region, _ = self.sink(tensor)
            sizes = {"COUNT": tensor.size, "FACTOR": 1.0, "ACCUMULATE": 1}
            current_device().launch("scale", sizes, out=region, x=gradient)
        else:
            self._hold(tensor, gradient)

    def step(self, record: OpRecord) -> None:
        output = record.output
        gradient = self.gradients.get(id(output))
        if gradient is not None:  # else no op handed anything on to it
            record.func_backward(record, gradient)
            if id(output) in self.gradients:  # else it was handed on whole
                self._release(output)

    def hand_on(self, tensor: Tensor, heir: Tensor) -> None:
        """Makes the gradient of `tensor` that of `heir`, without another holder."""
        gradient = self.gradients[id(tensor)]
        self._release(tensor)
        self.share(heir, gradient)

    def finish(self) -> None:
        """Gives each leaf its gradient, in bytes of its own: later passes add to them."""
        for key, leaf in self.leaves.items():
            region = self.gradients[key]
            if self.holders[id(region.storage)] > 1:
                region = self._own_copy(leaf, region)
            leaf.grad = Tensor(leaf.shape, leaf.dtype, region)

    def _hold(self, tensor: Tensor, region: Region) -> Region:
        self.gradients[id(tensor)] = region
        self.holders[id(region.storage)] += 1
        if tensor.record is None:
            self.leaves[id(tensor)] = tensor
        return region

    def _release(self, tensor: Tensor) -> None:
        region = self.gradients.pop(id(tensor))
        self.holders[id(region.storage)] -= 1

    def _own_copy(self, tensor: Tensor, region: Region) -> Region:
        own = _room_for(tensor)
        current_device().copy(region, own)
        self._release(tensor)
        return self._hold(tensor, own)


def _current_pass(record: OpRecord) -> _Pass:
    if not _passes:
        raise RuntimeError(f"The backward of {record.op} ran outside Tensor.backward().")
    return _passes[-1]


def _room_for(tensor: Tensor) -> Region:
    return current_device().temporary(tensor.size * ITEM_BYTES, "gradient")


def _seed(root: Tensor, gradient: Tensor | None) -> Region:
    if gradient is None:
        if root.size != 1:
            raise ShapeError("backward() without a gradient starts from one number.",
                             expected="a scalar", received=str(root.shape),
                             remedy="Take .mean() or .sum() first, or pass the gradient.")
        return _one()
    if gradient.shape != root.shape or gradient.dtype != "float32":
        raise ShapeError("The gradient does not fit the tensor.",
                         expected=f"float32 {root.shape}",
                         received=f"{gradient.dtype} {gradient.shape}")
    own = _room_for(root)  # a copy: it may be the very `grad` that this pass adds to
    current_device().copy(gradient.region, own)
    return own


def _one() -> Region:
    """The constant 1.0 on this device: written once, so that a plan can start from it."""
    device = current_device()
    region = _ones.get(device)
    if region is None:
        region = Region(device.allocate(ITEM_BYTES, "one"), 0, ITEM_BYTES)
        device.write(region, np.float32(1).tobytes())
        _ones[device] = region
    return region
