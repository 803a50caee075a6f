"""The backward of the gated delta rule: through the chunks, then all rows at once."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink
from tabgrad.gpu.adapter_class import lanes_of_a_stretch
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.tensor import ITEM_BYTES


def delta_rule_backward(record: OpRecord, gradient: Region) -> None:
    """Formulas in `reference.delta_backward`; saved: unit, rates, erase, attend, errors, state;
    and starts, with the const that says whether they are read."""
    ddelta, dstate = _through_the_chunks(record, gradient)
    dheads, dattend = _queries_and_keys(record, gradient, ddelta, dstate)
    _into_qkv(record, dheads, ddelta, dattend)
    if record.inputs[1].requires_grad or record.inputs[2].requires_grad:
        _into_gates(record, dheads, ddelta, dstate)


def _through_the_chunks(record: OpRecord, gradient: Region) -> tuple[Region, Region]:
    """ddelta of every row, and the gradient of the state before and after every chunk."""
    device = current_device()
    saved = record.attributes
    state = saved["state"]
    ddelta = device.temporary(saved["errors"].size, "delta_rule ddelta")
    dstate = device.temporary(state.size, "delta_rule dstate")
    device.clear(dstate)  # nothing comes after the last state
    device.launch("delta_backward_scan", saved["sizes"], _chunk(record),
                  flops=2 * saved["flops"], ddelta=ddelta, dstate=dstate, dout=gradient,
                  **_named(record, "unit", "rates", "erase", "attend"))
    return ddelta, dstate


def _queries_and_keys(record: OpRecord, gradient: Region, ddelta: Region,
                      dstate: Region) -> tuple[Region, Region]:
    """dq, dread and dwrite of every row and value head: from the states, then from other rows of
    the chunk. And dattend, whose diagonal is a row's product with itself."""
    device = current_device()
    saved, sizes = record.attributes, record.attributes["sizes"]
    derase = device.temporary(saved["erase"].size, "delta_rule derase")
    dattend = device.temporary(saved["attend"].size, "delta_rule dattend")
    rows = saved["rates"].size // (4 * ITEM_BYTES)
    dheads = device.temporary(rows * 4 * sizes["DK"] * ITEM_BYTES, "delta_rule dheads")
    given = {"ddelta": ddelta, "dout": gradient, **_named(record, "rates", "errors")}
    begins, several = saved["starts"]
    device.launch("delta_backward_products", _without(sizes, "HK", "DK"),
                  {**_chunk(record), **several},
                  flops=4 * rows * saved["chunk"] * sizes["DV"], derase=derase, dattend=dattend,
                  decay=record.inputs[1].region, starts=begins, **given)
    device.launch("delta_backward_states", _without(sizes, "HK"), _chunk(record),
                  flops=saved["flops"], dheads=dheads, state=saved["state"], dstate=dstate,
                  **given)
    device.launch("delta_backward_triangles", _without(sizes, "DV"), _chunk(record),
                  flops=4 * rows * saved["chunk"] * sizes["DK"], dheads=dheads, erase=derase,
                  attend=dattend, **_named(record, "unit"))
    return dheads, dattend


def _into_qkv(record: OpRecord, dheads: Region, ddelta: Region, dattend: Region) -> None:
    target = sink(record, 0)
    if target is None:
        return
    region, accumulate = target
    qkv, _, beta = record.inputs
    current_device().launch("delta_backward_input",
                            {**record.attributes["sizes"], "ACCUMULATE": int(accumulate)},
                            _chunk(record), flops=8 * qkv.size, dqkv=region, qkv=qkv.region,
                            dheads=dheads, ddelta=ddelta, beta=beta.region, dattend=dattend,
                            **_named(record, "unit"))


def _into_gates(record: OpRecord, dheads: Region, ddelta: Region, dstate: Region) -> None:
    """One kernel gives dbeta and the gradient of the summed decays, from which ddecay comes."""
    device = current_device()
    saved, sizes = record.attributes, record.attributes["sizes"]
    beta = record.inputs[2]
    rows = saved["rates"].size // (4 * ITEM_BYTES)
    dsums = device.temporary(2 * rows * ITEM_BYTES, "delta_rule dsums")
    region, accumulate = sink(record, 2) or (
        device.temporary(beta.size * ITEM_BYTES, "delta_rule gradient nobody needs"), False)
    device.launch("delta_backward_rows", {**sizes, "ACCUMULATE": int(accumulate)}, None,
                  flops=rows * (6 * sizes["DK"] + 2 * sizes["DV"]), dbeta=region, dsums=dsums,
                  dheads=dheads, ddelta=ddelta, **_named(record, "unit", "errors"))
    target = sink(record, 1)
    if target is not None:
        region, accumulate = target
        begins, several = saved["starts"]
        device.launch("delta_backward_decay",
                      {**_without(sizes, "HK"), "ACCUMULATE": int(accumulate)},
                      {**_chunk(record), **several, "LANES": lanes_of_a_stretch(device.info)},
                      flops=2 * saved["state"].size // ITEM_BYTES, ddecay=region, dsums=dsums,
                      dstate=dstate, starts=begins, **_named(record, "state", "rates"))


def _named(record: OpRecord, *names: str) -> dict[str, Region]:
    return {name: record.attributes[name] for name in names}


def _without(sizes: dict[str, int], *names: str) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if name not in names}


def _chunk(record: OpRecord) -> dict[str, int]:
    return {"CHUNK": record.attributes["chunk"]}
