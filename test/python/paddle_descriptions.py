"""Programs of Paddle that no version of it has to write, for tests."""

from __future__ import annotations

from typing import Any

from epl.paddle import schema

_LOD_TENSOR, _FLOAT32 = 7, 5
_KINDS = {"sub_block": (8, "block_idx"), "VAR": (13, "var_name"), float: (1, "f"), int: (0, "i")}


def make(*ops: tuple[str, dict[str, Any]], blocks: int = 1, lod_level: int = 0, version: int = 0) -> bytes:
    """A program of ops that read `x` and write `y`, each in a line of step.py.

    Args:
      ops: kinds, and attributes: numbers, a text for the name of a variable, `sub_block` for that of a block.
      lod_level: of x and y.
      version: of the program.
    """
    program = schema.message("ProgramDesc")()
    program.version.version = version
    for index in range(blocks):
        block = program.blocks.add(idx=index, parent_idx=-1)
        for name in "xy":
            variable = block.vars.add(name=name)
            variable.type.type = _LOD_TENSOR
            variable.type.lod_tensor.lod_level = lod_level
            variable.type.lod_tensor.tensor.data_type = _FLOAT32
            variable.type.lod_tensor.tensor.dims.extend([-1, 3])
        for number, (kind, attributes) in enumerate(ops, 1):
            op = block.ops.add(type=kind)
            op.inputs.add(parameter="X").arguments.append("x")
            op.outputs.add(parameter="Out").arguments.append("y")
            op.attrs.add(name="op_callstack", type=5).strings.append(f'  File "step.py", line {number}, in f')
            for name, value in attributes.items():
                key = "sub_block" if name == "sub_block" else "VAR" if isinstance(value, str) else type(value)
                number_of_kind, field = _KINDS[key]
                op.attrs.add(name=name, type=number_of_kind, **{field: value})
    return bytes(program.SerializeToString())
