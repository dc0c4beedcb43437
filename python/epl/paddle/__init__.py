"""`epl.paddle`: static programs of Paddle as functions of JAX, without Paddle.

    model = epl.paddle.load("model")  # model.pdmodel, as static.save_inference_model writes it
    parameters = model.read_parameters("model.pdiparams")
    infer = epl.parallelize(lambda parameters, x: model(parameters, {"x": x}), batch="x")

Needs protobuf: the extra `epl[paddle]`.
"""

from epl.paddle.description import Op, Variable
from epl.paddle.parameters import read_folder, read_state, write_folder, write_state
from epl.paddle.program import Program, load

__all__ = [
    "Op",
    "Program",
    "Variable",
    "load",
    "read_folder",
    "read_state",
    "write_folder",
    "write_state",
]
