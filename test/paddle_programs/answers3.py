"""What Paddle 3 answers, with the programs of Paddle 2, which PIR has replaced. Run with Paddle 3.0.

    answers3.py FOLDER    writes what answers.py does, of fewer programs, and pir.json, a program of PIR

`test/paddle_programs/answers3` has what Paddle 3.0.0 wrote: a program with parameters, and one with the
attributes that Paddle 3 writes otherwise than 2.6 (numbers of `assign_value` as Scalars).
"""

import os
import sys
from pathlib import Path

os.environ["FLAGS_enable_pir_api"] = "0"  # noqa: SIM112, its name; read when Paddle is imported

import answers
import numpy as np
import paddle
from paddle import static

F = paddle.nn.functional


@answers.program(x=[3, 4], ids=[5, ("int64", 4)])
def scalars(x, ids):
    return (
        paddle.assign(np.float32([[1.5, -2, 3, 0.25]])) + x,
        paddle.assign(np.float64([0.5, 2.5])),
        paddle.assign(np.int64([3, -4])) * 2,
        paddle.assign(np.int32([[7], [8]])),
        paddle.assign(np.array([True, False])),
        paddle.round(x),
        paddle.full_like(x, 2.5),
        paddle.full([2], 3, "int64"),
        paddle.gather(x, ids // 2),
        paddle.mean(x),
        F.gelu(x) ** 2,
    )


def write_pir(folder):
    """A program as Paddle 3 saves it by default."""
    with paddle.pir_utils.IrGuard():
        x = static.data("x", [None, 4])
        results = [F.relu(x)]
        executor = static.Executor(paddle.CPUPlace())
        static.save_inference_model(str(folder / "pir"), [x], results, executor)


if __name__ == "__main__":
    answers.write_all(("recommender", "scalars"), answers.write)
    write_pir(Path(sys.argv[1]))
