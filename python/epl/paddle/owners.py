"""Which device updates which variable in Paddle's Reduce mode.

A parameter, its gradient and what its optimizer keeps of it belong to one device. They are dealt out greedily
by elements, in the order in which the backward pass completes gradients; of devices with equally few, the
first one gets more. Source: PaddlePaddle 2.6, `ReduceSSAGraphBuilder` (multi_devices_graph_pass.cc).
"""

from __future__ import annotations

import math

from epl.paddle.description import OPTIMIZE
from epl.paddle.program import Program


def deal_out(program: Program, count: int) -> dict[str, int]:
    """The device, of `count`, of each persistable variable that has one, by name."""
    loads = [0] * count
    owners: dict[str, int] = {}
    for op in program.ops:
        for parameter, _ in op.completed:
            owner = loads.index(min(loads))
            loads[owner] += math.prod(program.variables[parameter].shape)
            owners[parameter] = owner
    for op in program.ops:
        own = [owners[name] for name in op.inputs.get("Param", ()) if name in owners]
        if op.role & OPTIMIZE and len(own) == 1:
            kept = (name for name in op.writes if name in program.parameters)
            owners.update(dict.fromkeys(kept, own[0]))
    return owners
