"""A training step of a torch module: states on EPL's devices, a program for each way in which it is called.

Method: loss function, gradients and update are one step of JAX, which `epl.parallelize` compiles. Its states
are parameters, buffers (and parameters that are not trained), the optimizer's state and a random key; a call
passes the batch and the optimizer's numbers. What changes the program without being a tensor (training or
evaluation of every submodule, frozen parameters, autocast, Python values) is a key to the programs.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree

from epl.adapters.torch import graph as graphs
from epl.adapters.torch import hooks, lowering
from epl.adapters.torch.inputs import Inputs, Parameters
from epl.adapters.torch.optimizers import Optimizer, optimizer
from epl.adapters.torch.tensors import lookup, nested, to_host, to_torch, torch_dtype
from epl.errors import ArgumentError
from epl.parallelize import Parallelized, parallelize

STATES = ("params", "buffers", "optimizer", "key")


class Training:
    """What `epl.torch.parallelize` gives; its public face, with the documentation, is `epl.torch.Step`."""

    def __init__(
        self, module: Any, loss_fn: Any, given: Any, *, batch: Any, name: str | None, seed: int, options: Any
    ) -> None:
        _check(module, loss_fn)
        self.module = module
        self._loss = Parameters(loss_fn, batch)
        self._name = name or type(module).__name__
        self._options = options
        self._named = dict(module.named_parameters())
        self._parts = tuple(module.modules())
        self._optimizer: Optimizer = optimizer(given, self._named)
        self._programs: dict[Any, Parallelized] = {}
        self._graphs: dict[Any, graphs.Graph] = {}
        self._key = jax.random.key_data(jax.random.key(seed))
        self.read_module()

    def read_module(self) -> None:
        """Takes over the module's tensors and the optimizer's state."""
        with jax.enable_x64(True):
            trained = {name: to_host(self._named[name]) for name in self._optimizer.names}
            rest = {name: to_host(tensor) for name, tensor in self._rest().items()}
            self._params, self._buffers = nested(trained), nested(rest)
            self._state = self._optimizer.init()

    def _rest(self) -> dict[str, Any]:
        """Tensors of the module that are not trained: buffers, parameters that no optimizer has."""
        frozen = {n: p for n, p in self._named.items() if n not in self._optimizer.names}
        return {**frozen, **dict(self.module.named_buffers())}

    def __call__(self, args: Any, kwargs: Any) -> Any:
        """A training step; gives what the loss function returns."""
        with jax.enable_x64(True):
            key, program, values = self._prepare(args, kwargs)
            *states, returned = program(*values)
            self._params, self._buffers, self._state, self._key = states
            self._optimizer.stepped(self._graphs[key].used)
            return _returned(self._graphs[key], returned)

    def evaluate(self, args: Any, kwargs: Any) -> Any:
        """The loss function with the module in evaluation mode; changes nothing."""
        with jax.enable_x64(True):
            inputs = self._loss.bind(args, kwargs)
            key = ("evaluate", inputs.key, self._frozen(), _ambient())
            if key not in self._programs:
                step = self._evaluation(inputs, key)
                self._programs[key] = self._parallelize(step, inputs, f"{self._name}_evaluate", ())
            values = (self._params, self._buffers, self._key, inputs.batch, inputs.constant)
            returned = self._programs[key](*values)
            return _returned(self._graphs[key], returned)

    def lower(self, args: Any, kwargs: Any) -> Any:
        """The training step for such arguments, traced."""
        with jax.enable_x64(True):
            _, program, values = self._prepare(args, kwargs)
            return program.lower(*values)

    def check(self, args: Any, kwargs: Any, **tolerances: float) -> Any:
        """Compares the training step with its reference, on the states as they are."""
        with jax.enable_x64(True):
            _, program, values = self._prepare(args, kwargs)
            return program.lower(*values).compile().check(*values, **tolerances)

    def _prepare(self, args: Any, kwargs: Any) -> tuple[Any, Parallelized, tuple[Any, ...]]:
        inputs = self._loss.bind(args, kwargs)
        modes = tuple(part.training for part in self._parts)
        key = ("train", inputs.key, modes, self._frozen(), self._optimizer.key(), _ambient())
        if key not in self._programs:
            self._programs[key] = self._parallelize(self._step(inputs, key), inputs, self._name, STATES)
        states = (self._params, self._buffers, self._state, self._key)
        return key, self._programs[key], (*states, self._optimizer.numbers(), inputs.batch, inputs.constant)

    def _frozen(self) -> tuple[bool, ...]:
        return tuple(parameter.requires_grad for parameter in self._named.values())

    def _parallelize(self, step: Any, inputs: Inputs, name: str, state: tuple[str, ...]) -> Parallelized:
        functools.update_wrapper(step, self._loss.function)  # errors about arguments name its line
        step.__signature__ = inspect.signature(step, follow_wrapped=False)
        axes: dict[str | int, Any] = {"batch": dict(inputs.axes)} if inputs.batch else {}
        made: Parallelized = parallelize(step, state=state, batch=axes, name=name, **self._options)
        return made

    def _step(self, inputs: Inputs, program: Any) -> Callable[..., Any]:
        """The training step as a function for JAX."""

        def step(
            params: Any, buffers: Any, optimizer: Any, key: Any, numbers: Any, batch: Any, constant: Any
        ) -> Any:
            carried, drawn = jax.random.split(jax.random.wrap_key_data(key))
            flat = {name: lookup(params, name) for name in self._optimizer.names}
            graph, results = self._run(inputs, flat, buffers, {**batch, **constant}, drawn, train=True)
            returned, gradients, after = graph.split(results)
            self._graphs[program] = graph
            new, state = self._optimizer.update(flat, gradients, optimizer, numbers)
            key = jax.random.key_data(carried) if hooks.draws(graph.module) else key
            return nested(new), nested(after), state, key, returned

        return step

    def _evaluation(self, inputs: Inputs, program: Any) -> Callable[..., Any]:
        """The evaluation step as a function for JAX."""

        def step(params: Any, buffers: Any, key: Any, batch: Any, constant: Any) -> Any:
            flat = {name: lookup(params, name) for name in self._optimizer.names}
            drawn = jax.random.wrap_key_data(key)
            graph, results = self._run(inputs, flat, buffers, {**batch, **constant}, drawn, train=False)
            self._graphs[program] = graph
            return graph.split(results)[0]

        return step

    def _run(
        self,
        inputs: Inputs,
        params: Mapping[str, Any],
        buffers: Any,
        arrays: Mapping[str, Any],
        key: Any,
        *,
        train: bool,
    ) -> tuple[graphs.Graph, list[Any]]:
        """Traces the module and runs the graph on JAX's tracers."""
        rest = {name: lookup(buffers, name) for name in self._rest()}
        empty = {name: _empty(array) for name, array in {**params, **rest}.items()}
        wanted = (
            frozenset(n for n in self._optimizer.names if self._named[n].requires_grad) if train else None
        )
        with _tracing(self.module, train=train):
            graph = graphs.trace(
                self.module,
                lambda module, tensors: self._loss.call(module, inputs.rebuild(tensors)),
                {name: empty[name] for name in params},
                {name: empty[name] for name in rest},
                [_empty(arrays[name]) for name in inputs.names],
                wanted,
            )
        leaves = [
            *params.values(),
            *rest.values(),
            *(arrays[name] for name in inputs.names),
        ]
        with warnings.catch_warnings():  # torchax asks for what JAX has otherwise
            warnings.simplefilter("ignore")
            return graph, lowering.run(graph, leaves, key, differentiated=train)

    def module_state(self) -> dict[str, Any]:
        """The module's `state_dict` with the tensors of the step, also under the names of tied ones."""
        kept = self.module.state_dict(keep_vars=True)
        names = {
            id(tensor): name for name, tensor in {**self._named, **dict(self.module.named_buffers())}.items()
        }
        return {
            key: to_torch(self._tensor(names[id(value)])) if id(value) in names else value
            for key, value in kept.items()
        }

    def _tensor(self, name: str) -> Any:
        return lookup(self._params if name in self._optimizer.names else self._buffers, name)

    def state_dict(self) -> dict[str, Any]:
        """Module, optimizer and random key."""
        return {
            "module": self.module_state(),
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
        tensors = {**self._named, **dict(self.module.named_buffers())}
        with torch.no_grad():
            for name, tensor in tensors.items():
                tensor.copy_(to_torch(self._tensor(name)))
        self._optimizer.write_back(self._state)


def _check(module: Any, loss_fn: Any) -> None:
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f"module must be a torch.nn.Module, found {type(module).__name__}")
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


def _tracing(module: Any, *, train: bool) -> Any:
    """Where a module is traced: as operators that torch differentiates one by one."""
    stack = contextlib.ExitStack()
    stack.enter_context(sdpa_kernel(SDPBackend.MATH))
    stack.enter_context(hooks.without_fused_libraries())
    stack.enter_context(torch.enable_grad() if train else torch.no_grad())
    if not train:
        for part in module.modules():
            stack.callback(setattr, part, "training", part.training)
        module.eval()
    return stack


def _empty(array: Any) -> Any:
    """A tensor of an array's shape and dtype."""
    return torch.empty(array.shape, dtype=torch_dtype(array.dtype))


def _returned(graph: graphs.Graph, flat: list[Any]) -> Any:
    """What the loss function returns."""
    return pytree.tree_unflatten([to_torch(array) for array in flat], graph.spec)
