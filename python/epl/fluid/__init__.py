"""`epl.fluid`: programs of Paddle Fluid 1.x, built by an installed Paddle 2.6 and run by EPL.

    from epl import fluid

    train_exe = fluid.ParallelExecutor(use_cuda=False, loss_name=loss.name, main_program=train_program)
    (train_loss,) = train_exe.run(fetch_list=[loss.name], feed=feed_dict)

Names, arguments and defaults are those of Fluid 1.8. Needs Paddle 2.6: the extra `epl[fluid]`.
"""

from epl.fluid import backward, clip, initializer, io, layers, nets, optimizer, regularizer
from epl.fluid.backward import append_backward, gradients
from epl.fluid.compiler import CompiledProgram
from epl.fluid.executor import Executor
from epl.fluid.feeder import DataFeeder
from epl.fluid.input import data, embedding, one_hot
from epl.fluid.installed import load
from epl.fluid.parallel_executor import ParallelExecutor
from epl.fluid.param_attr import ParamAttr
from epl.fluid.places import CPUPlace, CUDAPlace, cpu_places, cuda_places, is_compiled_with_cuda
from epl.fluid.scope import Scope, Tensor, global_scope, scope_guard
from epl.fluid.transpiler import DistributeTranspiler, DistributeTranspilerConfig
from epl.paddle.strategies import BuildStrategy, ExecutionStrategy

LoDTensor = Tensor
DistributedTranspiler = DistributeTranspiler  # as the guides spell it, too
DistributedTranspilerConfig = DistributeTranspilerConfig
_static = load().static
Program = _static.Program
Variable = _static.Variable
default_main_program = _static.default_main_program
default_startup_program = _static.default_startup_program
name_scope = _static.name_scope
program_guard = _static.program_guard
unique_name = load().utils.unique_name

__all__ = [
    "BuildStrategy",
    "CPUPlace",
    "CUDAPlace",
    "CompiledProgram",
    "DataFeeder",
    "DistributeTranspiler",
    "DistributeTranspilerConfig",
    "DistributedTranspiler",
    "DistributedTranspilerConfig",
    "ExecutionStrategy",
    "Executor",
    "LoDTensor",
    "ParallelExecutor",
    "ParamAttr",
    "Program",
    "Scope",
    "Tensor",
    "Variable",
    "append_backward",
    "backward",
    "clip",
    "cpu_places",
    "cuda_places",
    "data",
    "default_main_program",
    "default_startup_program",
    "embedding",
    "global_scope",
    "gradients",
    "initializer",
    "io",
    "is_compiled_with_cuda",
    "layers",
    "name_scope",
    "nets",
    "one_hot",
    "optimizer",
    "program_guard",
    "regularizer",
    "scope_guard",
    "unique_name",
]
