"""EPL parallelizes a training step that is written for one device by a few `with` lines."""

from epl import paddle, torch, versions
from epl.adapters.orbax import teach_orbax
from epl.array import Array
from epl.bounds import bounded_while
from epl.checkpoints.layout import layout_of
from epl.checkpoints.manager import Checkpoints
from epl.checkpoints.safetensors import load_safetensors, save_safetensors
from epl.checks import check
from epl.config import Config
from epl.constraints import constrain
from epl.environment import init
from epl.errors import (
    ArgumentError,
    CheckError,
    CompileError,
    CompileWarning,
    ConfigError,
    CopyWarning,
    DonatedError,
    Error,
    NotParallelWarning,
    ProcessError,
    RecompileWarning,
    ScopeError,
    StateError,
    StepError,
    UnsupportedError,
)
from epl.executable import Executable
from epl.initialize import init_state
from epl.input.parts import local_files, local_slice
from epl.input.prefetch import prefetch
from epl.merging import GraphKeys, add_to_collection, get_all_collections, get_collection
from epl.parallelize import Parallelized, parallelize
from epl.processes.gathering import gather
from epl.processes.parts import from_local
from epl.runtime import live_bytes
from epl.scopes import auto_stages, per_micro_batch, replicate, set_default_strategy, split
from epl.servers.strategy import ParameterServer
from epl.servers.workers import workers
from epl.simulation import MeshSimulation, Simulation
from epl.stages import Compiled, Lowered, load
from epl.tables.inits import constant, normal, uniform, zeros
from epl.tables.table import Table


def __getattr__(name: str) -> str:
    """`epl.__version__`, which needs the runtime: its build knows it."""
    if name == "__version__":
        return versions.version()
    raise AttributeError(f'module "{__name__}" has no attribute "{name}"')


teach_orbax()

__all__ = [
    "ArgumentError",
    "Array",
    "CheckError",
    "Checkpoints",
    "CompileError",
    "CompileWarning",
    "Compiled",
    "Config",
    "ConfigError",
    "CopyWarning",
    "DonatedError",
    "Error",
    "Executable",
    "GraphKeys",
    "Lowered",
    "MeshSimulation",
    "NotParallelWarning",
    "Parallelized",
    "ParameterServer",
    "ProcessError",
    "RecompileWarning",
    "ScopeError",
    "Simulation",
    "StateError",
    "StepError",
    "Table",
    "UnsupportedError",
    "add_to_collection",
    "auto_stages",
    "bounded_while",
    "check",
    "constant",
    "constrain",
    "from_local",
    "gather",
    "get_all_collections",
    "get_collection",
    "init",
    "init_state",
    "layout_of",
    "live_bytes",
    "load",
    "load_safetensors",
    "local_files",
    "local_slice",
    "normal",
    "paddle",
    "parallelize",
    "per_micro_batch",
    "prefetch",
    "replicate",
    "save_safetensors",
    "set_default_strategy",
    "split",
    "torch",
    "uniform",
    "workers",
    "zeros",
]
