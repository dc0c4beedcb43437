"""`BuildStrategy` and `ExecutionStrategy`: fields of Paddle's, and what each does here.

Tables say of each field its default, the types it takes, and what it does (`Effect`):

    REAL    as in Paddle
    ALWAYS  what it asks for is so here in any case; any value is taken, and said once
    NONE    without effect, as in Paddle
    REFUSED another value than the default is an error, which says why
"""

from __future__ import annotations

import copy
import enum
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from epl.errors import ArgumentError
from epl.values import did_you_mean


class Effect(enum.Enum):
    """What a field does here."""

    REAL = "real"
    ALWAYS = "always"
    NONE = "none"
    REFUSED = "refused"


@dataclass(frozen=True)
class Field:
    """A field of a strategy.

    default: makes its default. takes: types. why: of ALWAYS and REFUSED, for the user. least: of a number.
    """

    default: Callable[[], Any]
    takes: tuple[type[Any], ...]
    effect: Effect
    does: str
    least: int | None = None


class ReduceStrategy(enum.Enum):
    """How gradients come to parameters: summed to all devices, or to the one that owns the parameter."""

    AllReduce = 0
    Reduce = 1
    _NoReduce = 2


class GradientScaleStrategy(enum.Enum):
    """What the gradient of a device's loss begins with: 1 / devices, 1, or what is fed."""

    CoeffNumDevice = 0
    One = 1
    Customized = 2


class _Strategy:
    """Fields by a table."""

    FIELDS: ClassVar[Mapping[str, Field]]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A field."""

    def __init__(self) -> None:
        for name, each in self.FIELDS.items():
            object.__setattr__(self, name, each.default())
        object.__setattr__(self, "_is_final", False)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a field.

        Raises:
          AttributeError: for a name that is no field.
          ArgumentError: for another type, for a value that is not supported, and after the first run.
        """
        kind = type(self).__name__
        if name not in self.FIELDS:
            raise AttributeError(f'{kind} has no field "{name}"{did_you_mean(name, list(self.FIELDS))}')
        each = self.FIELDS[name]
        if self._is_final:
            raise ArgumentError(
                f"{kind} has been finalized by a run, {name} cannot be configured again: make another one"
            )
        _check(f"{kind}.{name}", each, value)
        if each.effect is Effect.ALWAYS:
            _say_once(f"{kind}.{name} makes no difference: {each.does}")
        if each.effect is Effect.REFUSED and value != each.default():
            raise ArgumentError(f"{kind}.{name} = {value!r} is not supported: {each.does}")
        object.__setattr__(self, name, value)

    def finalize(self) -> None:
        """Makes it final, as the first run does."""
        object.__setattr__(self, "_is_final", True)

    def _copy(self) -> Any:
        """Another one with the same values, which can be set."""
        other = copy.copy(self)
        object.__setattr__(other, "_is_final", False)
        return other


def _check(what: str, each: Field, value: Any) -> None:
    is_number = int in each.takes and isinstance(value, bool)
    if not isinstance(value, each.takes) or (is_number and bool not in each.takes):
        kinds = " or ".join("None" if kind is type(None) else kind.__name__ for kind in each.takes)
        raise ArgumentError(f"{what} must be {kinds}, found {value!r}")
    if each.least is not None and int(value) < each.least:
        raise ArgumentError(f"{what} must be {each.least} or more, found {value!r}")


_said: set[str] = set()


def _say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        warnings.warn(text, stacklevel=4)


def _value(value: Any) -> Callable[[], Any]:
    return lambda: value


def _always(default: Any, why: str, *takes: type) -> Field:
    return Field(_value(default), takes or (bool,), Effect.ALWAYS, why)


def _refused(default: Any, why: str, *takes: type) -> Field:
    return Field(_value(default), takes or (bool,), Effect.REFUSED, why)


def _real(default: Any, does: str, *takes: type, least: int | None = None) -> Field:
    return Field(_value(default), takes or (bool,), Effect.REAL, does, least)


_FUSED = "ops that are done element by element are fused by the compiler wherever they can be"
_MEMORY = "values share memory as soon as they are not used any more"


class ExecutionStrategy(_Strategy):
    """How the ops of a program are run. See Paddle's class; `FIELDS` says what each field does."""

    FIELDS: ClassVar[Mapping[str, Field]] = {
        "num_threads": _real(
            0,
            "threads of all devices; 1: the caller's, in the order of the program; 0: one for each core",
            int,
            least=0,
        ),
        "num_iteration_per_drop_scope": _real(
            100, "memory of runs is given back every so many", int, least=1
        ),
        "num_iteration_per_run": _real(
            1, "how often a run does the program; the last is fetched", int, least=1
        ),
        "use_experimental_executor": _always(True, "there is one executor"),
        "_dry_run": _always(False, "a plan is checked when it is made, without a run"),
        "allow_op_delay": Field(_value(False), (bool,), Effect.NONE, "as in Paddle"),
        "use_thread_barrier": _refused(False, "it is of asynchronous parameter servers"),
    }


class BuildStrategy(_Strategy):
    """How a program becomes one of several devices, as Paddle's class; `FIELDS` says what each does."""

    ReduceStrategy = ReduceStrategy
    GradientScaleStrategy = GradientScaleStrategy

    FIELDS: ClassVar[Mapping[str, Field]] = {
        "reduce_strategy": _real(ReduceStrategy.AllReduce, "who gets the sums of gradients", ReduceStrategy),
        "gradient_scale_strategy": _real(
            GradientScaleStrategy.CoeffNumDevice,
            "what the loss's gradient begins with",
            GradientScaleStrategy,
        ),
        "sync_batch_norm": _real(False, "statistics of batches are those of all devices"),
        "fuse_all_reduce_ops": _real(None, "gradients are summed together; None: they are", bool, type(None)),
        "fuse_broadcast_ops": _real(None, "parameters are sent together; None: they are", bool, type(None)),
        "enable_sequential_execution": _real(False, "ops are done in the order of the program"),
        "debug_graphviz_path": _real(
            "", "a file for the graph of the plan, in the language of graphviz", str
        ),
        "num_trainers": _real(1, "how many processes train", int, least=1),
        "trainer_id": _real(0, "the number of this one", int, least=0),
        "trainers_endpoints": Field(list, (list, tuple), Effect.REAL, "the addresses of all"),
        "nccl_comm_num": _real(1, "how many sums may be under way at a time, up to 8", int, least=1),
        "use_hierarchical_allreduce": _real(False, "gradients are summed within groups of processes first"),
        "hierarchical_allreduce_inter_nranks": _real(0, "how many processes are a group", int, least=0),
        "hierarchical_allreduce_exter_nranks": _real(
            0, "how many groups there are; 0: as many as there must be", int, least=0
        ),
        "memory_optimize": _always(None, _MEMORY, bool, type(None)),
        "enable_inplace": _always(True, _MEMORY),
        "fix_op_run_order": _always(False, "the order of a plan is fixed"),
        "async_mode": _always(
            False, "runs of a step are asynchronous: results are waited for when they are read"
        ),
        "remove_unnecessary_lock": _always(True, "kernels have no locks"),
        "fuse_elewise_add_act_ops": _always(False, _FUSED),
        "fuse_bn_act_ops": _always(False, _FUSED),
        "fuse_bn_add_act_ops": _always(True, _FUSED),
        "fuse_relu_depthwise_conv": _always(False, _FUSED),
        "fuse_gemm_epilogue": _always(False, _FUSED),
        "fuse_all_optimizer_ops": _always(False, _FUSED),
        "enable_auto_fusion": _always(False, _FUSED),
        "enable_addto": _refused(False, "gradients are added where the program says so"),
        "cache_runtime_context": _refused(False, "there is no context of ops to cache"),
        "enable_backward_optimizer_op_deps": _refused(
            True, "an optimizer's op begins when its gradient is there"
        ),
        "is_distribution": _refused(False, "parameter servers are not supported yet"),
        "mkldnn_enabled_op_types": Field(
            set, (set, frozenset, list, tuple), Effect.REFUSED, "EPL has own kernels"
        ),
        "allow_cuda_graph_capture": _refused(False, "EPL has no CUDA devices yet"),
        "bkcl_comm_num": _refused(1, "EPL has no devices of Kunlun", int),
    }

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a field; errors as of any strategy, and for what the guides do not have."""
        if name == "reduce_strategy" and value is ReduceStrategy._NoReduce:
            raise ArgumentError(
                "BuildStrategy.reduce_strategy = _NoReduce is not supported: devices share a step"
            )
        super().__setattr__(name, value)
