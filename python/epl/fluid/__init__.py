"""`epl.fluid`: programs of Paddle Fluid 1.x, built by an installed Paddle 2.6 and run by EPL.

    from epl import fluid

    train_exe = fluid.ParallelExecutor(use_cuda=False, loss_name=loss.name, main_program=train_program)
    (train_loss,) = train_exe.run(fetch_list=[loss.name], feed=feed_dict)

Needs Paddle: the extra `epl[fluid]`.
"""

from epl.fluid.compiler import CompiledProgram
from epl.fluid.executor import Executor
from epl.fluid.parallel_executor import ParallelExecutor
from epl.fluid.places import CPUPlace, CUDAPlace, cpu_places, cuda_places, is_compiled_with_cuda
from epl.fluid.scope import Scope, Tensor, global_scope, scope_guard
from epl.fluid.strategies import BuildStrategy, ExecutionStrategy

LoDTensor = Tensor

__all__ = [
    "BuildStrategy",
    "CPUPlace",
    "CUDAPlace",
    "CompiledProgram",
    "ExecutionStrategy",
    "Executor",
    "LoDTensor",
    "ParallelExecutor",
    "Scope",
    "Tensor",
    "cpu_places",
    "cuda_places",
    "global_scope",
    "is_compiled_with_cuda",
    "scope_guard",
]
