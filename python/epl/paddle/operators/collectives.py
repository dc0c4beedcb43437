"""What devices exchange where a program says so itself, as those of Paddle's collective transpilers do."""

from __future__ import annotations

from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator, out


@operator("c_allreduce_sum")
def all_reduce(inputs: Inputs, _: Attributes) -> Outputs:
    """The sum over the devices."""
    return out(inputs.across(inputs.one("X")))


@operator("c_broadcast")
def broadcast(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The value of one device."""
    return out(inputs.of_device(inputs.one("X"), attributes.get("root", 0)))


@operator("c_sync_calc_stream", "c_sync_comm_stream")
def synchronize(inputs: Inputs, _: Attributes) -> Outputs:
    """The value itself: what is waited for follows from who reads what."""
    return out(inputs.one("X"))


@operator("c_comm_init")
def connect(_: Inputs, __: Attributes) -> Outputs:
    """Nothing: devices are connected when processes start."""
    return {}
