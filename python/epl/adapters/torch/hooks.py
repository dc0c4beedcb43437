"""Everything private that EPL uses of PyTorch and torchax, and nothing else.

When one of the pinned versions moves, this file moves.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._functorch._aot_autograd.logging_utils import setup_stacktrace_preservation_hooks
from torch._guards import detect_fake_mode
from torch._subclasses import fake_tensor
from torch.func import functionalize
from torch.fx import traceback
from torch.fx.experimental import proxy_tensor, symbolic_shapes
from torch.nn.utils import stateless
from torch.utils import _pytree as pytree
from torch.utils import checkpoint

from epl.adapters.jax import hooks as jax_hooks
from epl.errors import Error

VERSIONS = {"torch": "2.12.1", "torchax": "0.0.13"}


def check_version(name: str, found: str) -> None:
    """Raises `Error` unless a package is the pinned version, on any platform."""
    if found.partition("+")[0] != (expected := VERSIONS[name]):
        raise Error(
            f'epl.torch works with {name} {expected}, found {found}: pip install "{name}=={expected}"'
        )


for _package in VERSIONS:
    check_version(_package, metadata.version(_package))

with warnings.catch_warnings():  # of its own deprecations
    warnings.simplefilter("ignore")
    import torchax
    import torchax.device_module
    from torchax.tensor import OperatorNotFound

    ENVIRONMENT = torchax.default_env()

# It has registered a device that does not exist: torch.optim asks devices that are there for their streams.
torchax.device_module.is_available = lambda: False

PACKAGES = tuple(str(Path(package.__file__).parent) for package in (torch, torchax))
"""Folders whose frames are no lines of a model."""

for _folder in PACKAGES:
    jax_hooks.exclude_from_locations(_folder)

BRANCHES: tuple[type[Exception], ...] = (
    fake_tensor.DataDependentOutputException,
    symbolic_shapes.GuardOnDataDependentSymNode,
)
"""What tracing raises where Python asks for a value."""

ASKS_FOR_A_VALUE = (
    "value out of a tracing tensor",
    "passed to FakeTensor.__format__",
    ".numpy() is not supported for tensor subclasses",
)
"""Words of torch's other errors where Python asks for a value."""

TAKES_A_GENERATOR = "torch._C.Generator"
"""What its error names where an operator is given a generator of random numbers."""

SHAPES: tuple[type[Exception], ...] = (fake_tensor.DynamicOutputShapeException,)
"""What tracing raises for a result whose shape depends on values."""

UNTRACEABLE: tuple[type[Exception], ...] = (fake_tensor.UnsupportedOperatorException,)
"""What tracing raises for an operator of which torch knows no shapes."""

_MORE = """
    native_batch_norm _native_batch_norm_legit_functional _native_batch_norm_legit
    _native_batch_norm_legit_no_training _batch_norm_with_update native_group_norm native_group_norm_backward
    native_dropout"""
_KEPT = frozenset({torch.ops.aten.embedding_dense_backward.default})  # index_put's form is another one


@functools.cache
def _decompositions() -> Mapping[Any, Callable[..., Any]]:
    """What torch itself writes with other operators: gradients above all, and what changes buffers."""
    more = [getattr(torch.ops.aten, name) for name in _MORE.split()]
    found = {**dict(core_aten_decompositions().items()), **get_decompositions(more)}
    return {operator: found[operator] for operator in found if operator not in _KEPT}


class _Replay(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a graph so that the nodes of a trace of it carry the metadata of its nodes."""

    def run_node(self, node: Any) -> Any:
        with traceback.set_current_meta(node):
            return super().run_node(node)


def trace(function: Callable[..., Any], leaves: list[Any], relate: Callable[[Any], None]) -> Any:
    """A function of tensors as a graph of ATen operators without mutation, on shapes alone.

    Args:
      function: of flat tensors, gives a flat list of them; may differentiate by `gradients`.
      leaves: tensors of the shapes that it is traced for.
      relate: called with the graph before functionalization, when backward nodes still know their forward
        nodes; it completes the nodes' annotations.
    """
    options: dict[str, Any] = {"tracing_mode": "fake", "_allow_non_fake_inputs": True}
    with traceback.preserve_node_meta():
        graph = proxy_tensor.make_fx(function, **options)(*leaves)
        relate(graph.graph)
        replay = functionalize(lambda *values: _Replay(graph).run(*values), remove="mutations")
        functional = proxy_tensor.make_fx(replay, _decompositions(), **options)(*leaves)
    functional.graph.eliminate_dead_code()
    return functional


def annotated(marks: Mapping[str, Any]) -> contextlib.AbstractContextManager[None]:
    """Nodes that are traced in the block carry these marks."""
    marked: contextlib.AbstractContextManager[None] = traceback.annotate(dict(marks))
    return marked


def marks(node: Any) -> dict[str, Any]:
    """The marks of a node."""
    return node.meta.get("custom") or {}


def set_marks(node: Any, marks: Mapping[str, Any]) -> None:
    """Replaces the marks of a node."""
    node.meta["custom"] = dict(marks)


def sequence_number(node: Any) -> int | None:
    """What ties a backward node to the forward node of the same number; None for accumulations."""
    return None if node.meta.get("is_gradient_acc") else node.meta.get("seq_nr")


def gradients(loss: Any, tensors: list[Any]) -> list[Any]:
    """The gradients of a loss while it is traced; None where it does not depend on a tensor."""
    setup_stacktrace_preservation_hooks([loss.grad_fn])
    return list(torch.autograd.grad(loss, tensors, allow_unused=True))


@contextlib.contextmanager
def substituted(module: Any, tensors: dict[str, Any]) -> Iterator[None]:
    """The module has other tensors as parameters and buffers in the block, under all names of tied ones."""
    with stateless._reparametrize_module(module, dict(tensors), tie_weights=True):
        yield


def is_traced(value: Any) -> bool:
    """Whether a tensor belongs to a trace, and means nothing outside of it."""
    return detect_fake_mode(value) is not None or isinstance(value, fake_tensor.FakeTensor)


def node_value(node: Any) -> Any:
    """The tensors, without elements, that a node makes."""
    return node.meta.get("val")


def constant(module: Any, name: str) -> Any:
    """A tensor that the traced function closed over."""
    return functools.reduce(getattr, name.split("."), module)


def lower(target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operator on arrays of JAX, as torchax has it.

    Raises:
      LookupError: if it does not have it.
    """
    try:
        operator = ENVIRONMENT._get_op_or_decomp(target)
    except OperatorNotFound:
        raise LookupError(str(target)) from None
    if operator.is_jax_function:
        environment = {"env": ENVIRONMENT} if operator.needs_env else {}
        return operator.func(*args, **kwargs, **environment)
    wrapped, options = ENVIRONMENT.j2t_iso((args, kwargs))
    with ENVIRONMENT, torch.no_grad():
        return ENVIRONMENT.t2j_iso(operator.func(*wrapped, **options))


@contextlib.contextmanager
def random_key(key: Any) -> Iterator[None]:
    """Operators that draw take their bits from a key of JAX in the block."""
    with ENVIRONMENT.override_property(prng=key):
        yield


TRACING = threading.RLock()
"""Held by who traces: torch's tracers, its switches and a module's tensors are the process's."""


def as_written() -> contextlib.AbstractContextManager[Any]:
    """What is compiled by `torch.compile` runs as it is written in the block: it is traced.

    So does a checkpoint of the kind that calls `backward` itself: it is of the other kind.
    """
    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(checkpoint.CheckpointFunction, "apply", _checkpointed))
    # It takes a second to import, and is there where something is compiled.
    if dynamo := sys.modules.get("torch._dynamo"):
        stack.enter_context(dynamo.config.patch(error_on_nested_fx_trace=False))
    return stack


@contextlib.contextmanager
def without_backward(instead: Callable[..., None]) -> Iterator[None]:
    """Who calls `backward` in the block calls this."""
    with mock.patch.object(torch.Tensor, "backward", instead), mock.patch("torch.autograd.backward", instead):
        yield


def _checkpointed(function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
    if not any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
        with torch.no_grad():  # what it reads besides its arguments has no gradients then
            return function(*args)
    return checkpoint.checkpoint(function, *args, use_reentrant=False, preserve_rng_state=preserve)


@contextlib.contextmanager
def without_fused_libraries() -> Iterator[None]:
    """Convolutions and recurrent layers are traced as the operators that torch differentiates itself."""
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


def draws(graph: Any) -> bool:
    """Whether a graph has operators that draw random numbers."""
    tags = (getattr(node.target, "tags", ()) for node in graph.graph.nodes)
    return any(torch.Tag.nondeterministic_seeded in found for found in tags)


def asks_for_a_value(node: Any) -> bool:
    """Whether a node gives Python the value of a tensor."""
    return torch.Tag.data_dependent_output in getattr(node.target, "tags", ())


def has_a_shape_of_values(node: Any) -> bool:
    """Whether the shape that a node makes depends on values."""
    if torch.Tag.dynamic_output_shape in getattr(node.target, "tags", ()):
        made = pytree.tree_leaves(node_value(node))
        return any(isinstance(n, torch.SymInt) for tensor in made for n in getattr(tensor, "shape", ()))
    return False


def mark_stepped(optimizer: Any) -> None:
    """A scheduler of torch warns unless the optimizer has made a step."""
    optimizer._opt_called = True


def has_step_hooks(optimizer: Any) -> bool:
    """Whether functions of the user's are to be called round the optimizer's steps."""
    return bool(optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks)


def gradient_hooks(parameter: Any) -> list[Callable[[Any], Any]]:
    """What `register_hook` has registered for a parameter."""
    return list((parameter._backward_hooks or {}).values())


def has_accumulation_hooks(parameter: Any) -> bool:
    """Whether `register_post_accumulate_grad_hook` has registered something for a parameter."""
    return bool(parameter._post_accumulate_grad_hooks)


def own_parts(module: Any) -> tuple[Any, ...]:
    """What identifies a module's own submodules, parameters and buffers; a buffer may be assigned anew."""
    return (*map(id, module._modules.values()), *map(id, module._parameters.values()), *module._buffers)
