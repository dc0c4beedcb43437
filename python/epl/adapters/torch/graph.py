"""A step of a torch module as one graph: loss, gradients and what becomes of buffers.

Problem: what torch differentiates is what its autograd sees, `no_grad`, `autograd.Function`, writes through
views, autocast included; no other system differentiates the same.
Method: torch traces its own autograd on shapes alone, as AOTAutograd does, and makes the graph functional.
Nodes carry marks: the scope that they were traced in, the lines that called torch, whether they belong to the
backward work. A backward node takes the marks of the forward node that torch's sequence numbers tie it to.
Invariant out: a flat graph of ATen operators without mutation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from epl.adapters.torch import hooks, lines
from epl.adapters.torch.support import BACKWARD_INSIDE, BRANCH, GENERATOR, MASK, OPERATOR, explained
from epl.errors import ArgumentError, Error, Place, UnsupportedError
from epl.places import calling_place, raising_place
from epl.scope_table import annotating, repeating

SCOPE = "epl.scope"
PER_MICRO_BATCH = "epl.per_micro_batch"
BACKWARD = "epl.backward"


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """A traced step.

    module: torch's GraphModule; its arguments are parameters, buffers and inputs, flat, its results what the
    loss function returns, gradients and new buffers. spec: the tree of what the loss function returns.
    present: which of its leaves are tensors, and not None. used: names of the parameters that have gradients,
    in their order. buffers: names of the new ones.
    """

    module: Any
    spec: Any
    present: tuple[bool, ...]
    used: tuple[str, ...]
    buffers: tuple[str, ...]

    def split(self, results: list[Any]) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """What the loss function returns, flat, gradients and buffers by name, from flat results."""
        first = sum(self.present)
        second = first + len(self.used)
        gradients = dict(zip(self.used, results[first:second], strict=True))
        return results[:first], gradients, dict(zip(self.buffers, results[second:], strict=True))

    def rebuild(self, tensors: Iterable[Any]) -> Any:
        """What the loss function returns, of its tensors."""
        rest = iter(tensors)
        return pytree.tree_unflatten(
            [next(rest) if is_there else None for is_there in self.present], self.spec
        )


class _Recorder:
    """The function that torch traces, and what it learns while it runs."""

    def __init__(
        self,
        module: Any,
        loss_fn: Callable[..., Any],
        names: tuple[list[str], list[str]],
        differentiated: list[bool],
        wanted: frozenset[str] | None,
    ) -> None:
        self.module = module
        self.loss_fn = loss_fn
        self.parameters, self.buffers = names
        self.differentiated = differentiated
        self.wanted = wanted
        self.hooks = {} if wanted is None else {name: _hooks_of(module, name) for name in wanted}
        self.spec: Any = None
        self.present: tuple[bool, ...] = ()
        self.used: tuple[str, ...] = ()

    def __call__(self, *leaves: Any) -> list[Any]:
        first, second = len(self.parameters), len(self.parameters) + len(self.buffers)
        parameters = {
            name: leaf.detach().requires_grad_(self.wanted is not None and name in self.wanted)
            for name, leaf in zip(self.parameters, leaves[:first], strict=True)
        }
        buffers = {n: leaf.clone() for n, leaf in zip(self.buffers, leaves[first:second], strict=True)}
        inputs = [
            leaf.detach().requires_grad_() if wants else leaf
            for leaf, wants in zip(leaves[second:], self.differentiated, strict=True)
        ]
        # A checkpoint runs parts of the module again while gradients are computed: on these tensors, too.
        with hooks.substituted(self.module, {**parameters, **buffers}):
            flat = self._run(inputs)
            gradients = [] if self.wanted is None else self._differentiate(flat[0], parameters)
            buffers |= {n: tensor for n, tensor in self.module.named_buffers() if n in buffers}
            _check_attributes(self.module)
        return [*(leaf.detach() for leaf in flat), *gradients, *(buffers[n].detach() for n in self.buffers)]

    def _run(self, inputs: list[Any]) -> list[Any]:
        """What the loss function returns, flat."""
        marked = annotating(
            lambda scope: hooks.annotated({PER_MICRO_BATCH: True} if scope is None else {SCOPE: scope})
        )
        with marked, lines.Lines(), hooks.without_backward(_refuse_backward):
            returned = self.loss_fn(self.module, inputs)
        if self.wanted is not None and not self.wanted:
            raise ArgumentError(
                "no parameter of the optimizer requires gradients: call requires_grad_() of what is trained"
            )
        _check_returned(self.loss_fn, returned, differentiate=self.wanted is not None)
        flat, self.spec = pytree.tree_flatten(returned)
        self.present = tuple(leaf is not None for leaf in flat)
        return [leaf for leaf in flat if leaf is not None]

    def _differentiate(self, loss: Any, parameters: Mapping[str, Any]) -> list[Any]:
        wanted = [name for name in self.parameters if name in (self.wanted or ())]
        with hooks.annotated({BACKWARD: True}), lines.Lines(), repeating():
            found = hooks.gradients(loss, [parameters[name] for name in wanted])
        pairs = [(name, grad) for name, grad in zip(wanted, found, strict=True) if grad is not None]
        self.used = tuple(name for name, _ in pairs)
        with hooks.annotated({BACKWARD: True}), lines.Lines():
            return [self._hooked(name, grad) for name, grad in pairs]

    def _hooked(self, name: str, gradient: Any) -> Any:
        """What the hooks of a parameter make of its gradient."""
        for hook in self.hooks[name]:
            changed = hook(gradient)
            gradient = gradient if changed is None else changed
        return gradient


def trace(
    module: Any,
    loss_fn: Callable[..., Any],
    parameters: Mapping[str, Any],
    buffers: Mapping[str, Any],
    inputs: list[Any],
    wanted: frozenset[str] | None,
) -> Graph:
    """Traces `loss_fn(module, inputs)` for tensors of such shapes and dtypes.

    Args:
      module, loss_fn: of the user.
      parameters, buffers: tensors by their names in the module.
      inputs: tensors; those that require gradients do so in the loss function.
      wanted: parameters to differentiate with respect to; None: no gradients at all.

    Raises:
      ArgumentError: if the function does not return a scalar first.
      UnsupportedError: for what cannot be traced, with the user's line.
    """
    leaves = [*parameters.values(), *buffers.values(), *inputs]
    differentiated = [tensor.requires_grad for tensor in inputs]
    recorder = _Recorder(module, loss_fn, (list(parameters), list(buffers)), differentiated, wanted)
    try:
        graph = hooks.trace(recorder, leaves, _relate)
    except Exception as error:
        if (row := _row(error)) is None or isinstance(error, Error):
            raise
        raise explained(row, raising_place(error)) from error
    _check_constants(module, graph)
    return Graph(graph, recorder.spec, recorder.present, recorder.used, tuple(buffers))


def _refuse_backward(*_: Any, **__: Any) -> None:
    raise explained(BACKWARD_INSIDE, calling_place())


def _hooks_of(module: Any, name: str) -> list[Callable[[Any], Any]]:
    """The hooks of a parameter that change its gradient.

    Raises:
      UnsupportedError: for hooks of another kind: a step has no `.grad`.
    """
    parameter = module.get_parameter(name)
    if hooks.has_accumulation_hooks(parameter):
        raise UnsupportedError(
            f'"{name}" has a hook by register_post_accumulate_grad_hook, and a step has no .grad: change the '
            "gradient in one by register_hook"
        )
    return hooks.gradient_hooks(parameter)


def _check_constants(module: Any, graph: Any) -> None:
    """Refuses tensors that are trained but are no arguments: the program would keep their present values."""
    names = {id(tensor): name for name, tensor in [*module.named_parameters(), *module.named_buffers()]}
    for node in graph.graph.nodes:
        tensor = hooks.constant(graph, node.target) if node.op == "get_attr" else None
        if tensor is None or not (tensor.requires_grad or id(tensor) in names):
            continue
        reader = next(iter(node.users), node)
        raise UnsupportedError(
            f'a tensor {tuple(tensor.shape)} that changes ("{names.get(id(tensor), "of no module here")}") '
            "is read past the module: read it from the module that the loss function is given, which may "
            "hold other modules, or freeze it by requires_grad_(False)",
            lines.place(reader),
        )


def _row(error: Exception) -> Any:
    """What a failure of the trace means."""
    if isinstance(error, hooks.SHAPES):
        return MASK
    if isinstance(error, hooks.BRANCHES) or any(text in str(error) for text in hooks.ASKS_FOR_A_VALUE):
        return BRANCH
    if hooks.TAKES_A_GENERATOR in str(error):
        return GENERATOR
    return OPERATOR if isinstance(error, hooks.UNTRACEABLE) else None


def _relate(graph: Any) -> None:
    """Gives backward nodes the marks of their forward nodes."""
    forward: dict[int, dict[str, Any]] = {}
    for node in graph.nodes:
        number, marks = hooks.sequence_number(node), hooks.marks(node)
        if number is None:
            continue
        if BACKWARD not in marks:
            forward.setdefault(number, marks)
        elif number in forward:
            hooks.set_marks(node, {**forward[number], **marks, **_inherited(forward[number])})


def _inherited(marks: Mapping[str, Any]) -> dict[str, Any]:
    return {name: marks[name] for name in (SCOPE, lines.FRAMES) if name in marks}


def _check_returned(loss_fn: Callable[..., Any], returned: Any, *, differentiate: bool) -> None:
    name = getattr(loss_fn, "__name__", type(loss_fn).__name__)
    flat = pytree.tree_leaves(returned)
    for strange in (leaf for leaf in flat if not isinstance(leaf, torch.Tensor | None)):
        raise ArgumentError(
            f"{name} must return tensors, found {type(strange).__name__}: return the loss, or (loss, tensors)"
        )
    if flat and flat[0] is None:
        raise ArgumentError(
            f"{name} must return the loss first, found None: return the loss, or (loss, tensors)"
        )
    if not flat or (differentiate and (flat[0].ndim != 0 or not flat[0].is_floating_point())):
        found = f"{flat[0].dtype} of shape {tuple(flat[0].shape)}" if flat else "nothing"
        raise ArgumentError(
            f"{name} must return the loss first, one floating-point number, found {found}: "
            "reduce it, as by .mean()"
        )
    if differentiate and flat[0].grad_fn is None:
        raise ArgumentError(
            f"the loss that {name} returns does not depend on parameters of the optimizer: "
            "compute it with gradients enabled"
        )


def _check_attributes(module: Any) -> None:
    """Refuses what a module keeps of the step beside its buffers: it would be no tensor afterwards."""
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor) and hooks.is_traced(value):
                raise UnsupportedError(
                    f'"{".".join(filter(None, (path, name)))}" is assigned a tensor of the step: '
                    f"{_instead_of_attribute(part, name)}",
                    _place_of(part),
                )


def _instead_of_attribute(part: Any, name: str) -> str:
    own = dict(part.named_parameters(recurse=False))
    if f"{name}_g" in own or f"{name}_orig" in own:
        return "it is of a norm of torch.nn.utils: use that of torch.nn.utils.parametrizations"
    return "register it by register_buffer, or return it with the loss"


def _place_of(module: Any) -> Place | None:
    code = getattr(type(module).forward, "__code__", None)
    return Place(code.co_filename, code.co_firstlineno) if code else None
