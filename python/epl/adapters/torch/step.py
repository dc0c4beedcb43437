"""A training step of a torch module: states on EPL's devices, a program for each way in which it is called.

Method: loss function, gradients and update are one step of JAX, which `epl.parallelize` compiles. Its states
are parameters, buffers (and parameters that are not trained), the optimizer's state and a random key; a call
passes the batch and the optimizer's numbers. What changes the program without being a tensor (training or
evaluation of every submodule, frozen parameters, autocast, Python values) is a key to the programs.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from epl.adapters.torch import graph as graphs
from epl.adapters.torch import hooks, lowering
from epl.adapters.torch.inputs import Inputs, Parameters
from epl.adapters.torch.optimizers import Optimizer, optimizer
from epl.adapters.torch.states import Tensors
from epl.adapters.torch.tensors import lookup, nested, to_host, to_torch, torch_dtype
from epl.advice import warn_of_copies
from epl.errors import ArgumentError
from epl.parallelize import Parallelized, parallelize

Arrays = Mapping[str, Any]

STATES = ("params", "buffers", "optimizer", "key")

_alive: weakref.WeakSet[Training] = weakref.WeakSet()


class Training:
    """What `epl.torch.parallelize` gives; its public face, with the documentation, is `epl.torch.Step`."""

    def __init__(
        self,
        module: Any,
        loss_fn: Any,
        given: Any,
        *,
        batch: Any,
        share: Training | None,
        name: str | None,
        seed: int,
        options: Any,
    ) -> None:
        _check(module, loss_fn)
        self.module = module
        self._loss = Parameters(loss_fn, batch)
        self._name = name or type(module).__name__
        self._options = options
        self._parts = tuple(module.modules())
        self._optimizer: Optimizer = optimizer(given, dict(module.named_parameters()))
        self._programs: dict[Any, Parallelized] = {}
        self._key = jax.random.key_data(jax.random.key(seed))
        self._has_news = False  # that the module has not
        with jax.enable_x64(True):
            shared: Tensors | None = share._tensors if share else None
            self._tensors: Tensors = Tensors(module, self._optimizer.names, shared)
            self._state = self._optimizer.read(None)
        _alive.add(self)

    def _note_training(self) -> None:
        """Before a step that the module knows nothing of; warns if another one trains copies."""
        if not self._has_news and self._has_copies():
            gc.collect()  # a step that nobody has any more is in a circle with its programs
            if self._has_copies():
                warn_of_copies(self._name)
        self._has_news = True

    def _has_copies(self) -> bool:
        return any(other._has_news and self._tensors.are_copies(other._tensors) for other in tuple(_alive))

    def read_module(self) -> None:
        """Takes over the module's tensors, and the optimizer's state from an optimizer of torch."""
        with jax.enable_x64(True):
            self._tensors.read()
            self._state = self._optimizer.read(self._state)
            self._has_news = False

    def __call__(self, args: Any, kwargs: Any) -> Any:
        """A training step; gives what the loss function returns."""
        with jax.enable_x64(True):
            program, values = self._prepare(args, kwargs)
            self._note_training()
            params, buffers, self._state, self._key, returned = program(*values)
            self._tensors.update(params, buffers)
            self._optimizer.stepped(returned.graph.used)
            return returned.rebuilt()

    def evaluate(self, args: Any, kwargs: Any) -> Any:
        """The loss function with the module in evaluation mode; changes nothing."""
        with jax.enable_x64(True):
            inputs = self._loss.bind(args, kwargs)
            with hooks.TRACING:
                self._tensors.check_module()
            key = ("evaluate", inputs.key, self._frozen(), _ambient())
            if key not in self._programs:
                step = self._evaluation(inputs)
                self._programs[key] = self._parallelize(step, inputs, f"{self._name}_evaluate", ())
            values = (*self._tensors.trees(), self._key, inputs.batch, inputs.constant)
            return self._programs[key](*values).rebuilt()

    def lower(self, args: Any, kwargs: Any) -> Any:
        """The training step for such arguments, traced."""
        with jax.enable_x64(True):
            program, values = self._prepare(args, kwargs)
            return program.lower(*values)

    def check(self, args: Any, kwargs: Any, **tolerances: float) -> Any:
        """Compares the training step with its reference, on the states as they are."""
        with jax.enable_x64(True):
            program, values = self._prepare(args, kwargs)
            return program.lower(*values).compile().check(*values, **tolerances)

    def _prepare(self, args: Any, kwargs: Any) -> tuple[Parallelized, tuple[Any, ...]]:
        inputs = self._loss.bind(args, kwargs)
        with hooks.TRACING:  # another thread's trace changes modes and tensors of the module for a while
            self._tensors.check_module()
            modes = tuple(part.training for part in self._parts)
        self._state = self._optimizer.completed(self._state)
        key = ("train", inputs.key, modes, self._frozen(), self._optimizer.key(), _ambient())
        if key not in self._programs:
            self._programs[key] = self._parallelize(self._step(inputs), inputs, self._name, STATES)
        states = (*self._tensors.trees(), self._state, self._key)
        return self._programs[key], (*states, self._optimizer.numbers(), inputs.batch, inputs.constant)

    def _frozen(self) -> tuple[bool, ...]:
        return tuple(parameter.requires_grad for parameter in self._tensors.parameters.values())

    def _parallelize(self, step: Any, inputs: Inputs, name: str, state: tuple[str, ...]) -> Parallelized:
        functools.update_wrapper(step, self._loss.function)  # errors about arguments name its line
        step.__signature__ = inspect.signature(step, follow_wrapped=False)
        axes: dict[str | int, Any] = {"batch": dict(inputs.axes)} if inputs.batch else {}
        made: Parallelized = parallelize(step, state=state, batch=axes, name=name, **self._options)
        return made

    def _step(self, inputs: Inputs) -> Callable[..., Any]:
        """The training step as a function for JAX."""

        def step(
            params: Any, buffers: Any, optimizer: Any, key: Any, numbers: Any, batch: Any, constant: Any
        ) -> Any:
            carried, drawn = jax.random.split(jax.random.wrap_key_data(key))
            flat = {name: lookup(params, name) for name in self._optimizer.names}
            graph, results = self._run(inputs, flat, buffers, {**batch, **constant}, drawn, train=True)
            returned, gradients, after = graph.split(results)
            new, state = self._optimizer.update(flat, gradients, optimizer, numbers)
            key = jax.random.key_data(carried) if hooks.draws(graph.module) else key
            return nested(new), nested(after), state, key, _Returned(returned, graph)

        return step

    def _evaluation(self, inputs: Inputs) -> Callable[..., Any]:
        """The evaluation step as a function for JAX."""

        def step(params: Any, buffers: Any, key: Any, batch: Any, constant: Any) -> Any:
            flat = {name: lookup(params, name) for name in self._optimizer.names}
            drawn = jax.random.wrap_key_data(key)
            graph, results = self._run(inputs, flat, buffers, {**batch, **constant}, drawn, train=False)
            return _Returned(graph.split(results)[0], graph)

        return step

    def _run(
        self,
        inputs: Inputs,
        params: Arrays,
        buffers: Any,
        arrays: Arrays,
        key: Any,
        *,
        train: bool,
    ) -> tuple[graphs.Graph, list[Any]]:
        """Traces the module and runs the graph on JAX's tracers."""
        rest = {name: lookup(buffers, name) for name in self._tensors.rest}
        leaves = [*params.values(), *rest.values(), *(arrays[name] for name in inputs.names)]
        with hooks.TRACING:
            graph = self._trace(inputs, params, rest, arrays, train=train)
            with warnings.catch_warnings():  # torchax asks for what JAX has otherwise
                warnings.simplefilter("ignore")
                return graph, lowering.run(graph, leaves, key, differentiated=train)

    def _trace(
        self, inputs: Inputs, params: Arrays, rest: Arrays, arrays: Arrays, *, train: bool
    ) -> graphs.Graph:
        with _tracing(self.module, train=train, differentiates=train or bool(inputs.differentiated)):
            empty = {name: _empty(array) for name, array in {**params, **rest}.items()}
            named = self._tensors.parameters
            trained = frozenset(name for name in self._optimizer.names if named[name].requires_grad)
            return graphs.trace(
                self.module,
                self._loss.of_tensors(inputs),
                {name: empty[name] for name in params},
                {name: empty[name] for name in rest},
                [_empty(arrays[name]).requires_grad_(name in inputs.differentiated) for name in inputs.names],
                trained if train else None,
            )

    def state_dict(self) -> dict[str, Any]:
        """Module, optimizer and random key."""
        return {
            "module": self._tensors.state_dict(),
            "optimizer": self._optimizer.state_dict(self._state),
            "key": to_torch(np.asarray(self._key)),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self.module.load_state_dict(state["module"])
        self.read_module()
        with jax.enable_x64(True):
            self._state = self._optimizer.load_state_dict(state["optimizer"])
            self._key = jnp.asarray(to_host(state["key"]))

    def write_back(self) -> None:
        """The module and torch's optimizer take over the tensors of the step."""
        self._tensors.write_back()
        self._optimizer.write_back(self._state)
        self._has_news = False


@jax.tree_util.register_pytree_with_keys_class
class _Returned:
    """What the loss function returns, flat, and the graph that made it: other shapes have another."""

    def __init__(self, flat: Sequence[Any], graph: graphs.Graph) -> None:
        self.flat = flat
        self.graph = graph

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], graphs.Graph]:
        """For JAX: as a list."""
        return [(jax.tree_util.SequenceKey(i), leaf) for i, leaf in enumerate(self.flat)], self.graph

    @classmethod
    def tree_unflatten(cls, graph: graphs.Graph, flat: Sequence[Any]) -> _Returned:
        """For JAX."""
        return cls(flat, graph)

    def rebuilt(self) -> Any:
        """As the loss function returned it, with tensors of torch."""
        return self.graph.rebuild(map(to_torch, self.flat))


def _check(module: Any, loss_fn: Any) -> None:
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f"module must be a torch.nn.Module, found {type(module).__name__}")
    if scripted := next((p for p in module.modules() if isinstance(p, torch.jit.ScriptModule)), None):
        raise ArgumentError(
            f"module must be written in Python, found {type(scripted).__name__}: give the module that it was "
            "made of"
        )
    if isinstance(module, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
        raise ArgumentError(
            f"module must be one for a single device, found {type(module).__name__}: give its .module, which "
            "the step shares among devices itself"
        )
    if not callable(loss_fn):
        raise ArgumentError(f"loss_fn must be a function of the module and a batch, found {loss_fn!r}")
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if torch.nn.parameter.is_lazy(tensor):
            raise ArgumentError(
                f'"{name}" has no shape yet: call the module once before epl.torch.parallelize'
            )
        if tensor.device.type != "cpu":
            raise ArgumentError(f'"{name}" is on device {tensor.device}: move the module by module.cpu()')


def _ambient() -> Any:
    """Settings of torch that a trace depends on."""
    autocast = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu")
    return autocast, torch.get_default_dtype()


def _tracing(module: Any, *, train: bool, differentiates: bool) -> Any:
    """Where a module is traced: as operators that torch differentiates one by one."""
    stack = contextlib.ExitStack()
    stack.enter_context(torch.inference_mode(False))
    stack.enter_context(hooks.as_written())
    stack.enter_context(sdpa_kernel(SDPBackend.MATH))
    stack.enter_context(hooks.without_fused_libraries())
    stack.enter_context(torch.enable_grad() if differentiates else torch.no_grad())
    if not train:
        for part in module.modules():
            stack.callback(setattr, part, "training", part.training)
        module.eval()
    return stack


def _empty(array: Any) -> Any:
    """A tensor of an array's shape and dtype."""
    return torch.empty(array.shape, dtype=torch_dtype(array.dtype))
