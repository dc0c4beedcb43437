"""Updates of parameters: those of torch.optim's SGD, Adam and AdamW on torch's own state, or optax's.

Method: what torch computes in Python from a group's numbers and the count of steps (bias corrections, decay)
is computed here as well, and passed to the step as one array: a row for every kind of parameter, those of one
group that have made equally many steps. So a schedule changes it without compiling anew, and numbers are
rounded where torch rounds them.
Source: torch/optim/sgd.py, adam.py (`_single_tensor_sgd`, `_single_tensor_adam`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import torch

from epl.adapters.torch import hooks
from epl.adapters.torch.tensors import copied, lookup, nested, to_host, to_torch
from epl.errors import ArgumentError

Arrays = Mapping[str, Any]


class Optimizer(Protocol):
    """What a step needs of an optimizer; `names` are those of the parameters that it updates."""

    names: tuple[str, ...]

    def key(self) -> Any:
        """What the program depends on."""

    def numbers(self) -> np.ndarray[Any, Any]:
        """What a call passes."""

    def read(self, state: Any) -> Any:
        """The state that the user's object has; of one that has none `state`, or what to begin with."""

    def completed(self, state: Any) -> Any:
        """The state with what the optimizer's settings need now."""

    def update(self, params: Arrays, gradients: Arrays, state: Any, numbers: Any) -> tuple[Arrays, Any]:
        """New parameters and state, while JAX traces."""

    def stepped(self, used: Sequence[str]) -> None:
        """Told after each step which parameters had a gradient."""

    def state_dict(self, state: Any) -> Any:
        """The state as the optimizer's library keeps it."""

    def load_state_dict(self, state: Any) -> Any:
        """The inverse of `state_dict`."""

    def write_back(self, state: Any) -> None:
        """Writes the state into the user's object, if it has one."""


@dataclass(frozen=True)
class _Kind:
    """An optimizer of torch.

    slots: its tensors for each parameter, in a group. counts: whether it counts the steps of a group, as
    those that have made its slots. flags: settings of a group that are part of the program. numbers: of a
    row. update: new parameter and slots.
    """

    slots: Callable[[Any], tuple[str, ...]]
    counts: Callable[[Any], bool]
    flags: Callable[[Any], tuple[bool, ...]]
    numbers: Callable[[Any, float], list[float]]
    update: Callable[..., tuple[Any, tuple[Any, ...]]]


def _sgd_numbers(group: Any, steps: float) -> list[float]:
    momentum = float(group["momentum"]) if steps > 1 else 0.0
    kept = 1 - float(group["dampening"]) if steps > 1 else 1.0  # the first gradient is the buffer as it is
    return [float(group["lr"]), float(group["weight_decay"]), momentum, kept, float(group["momentum"])]


def _sgd(param: Any, grad: Any, slots: Any, numbers: Any, flags: Any) -> tuple[Any, tuple[Any, ...]]:
    nesterov, maximize = flags
    lr, decay, momentum, kept, lookahead = numbers
    grad = (-grad if maximize else grad) + decay * param
    if not slots:
        return param - lr * grad, ()
    buffer = momentum * slots[0] + kept * grad
    return param - lr * (grad + lookahead * buffer if nesterov else buffer), (buffer,)


def _adam_numbers(group: Any, steps: float) -> list[float]:
    lr, decay = float(group["lr"]), float(group["weight_decay"])
    first, second = map(float, group["betas"])
    decoupled = group["decoupled_weight_decay"]
    size, root = lr / (1 - first**steps), (1 - second**steps) ** 0.5
    shrink, penalty = (1 - lr * decay, 0.0) if decoupled else (1.0, decay)
    return [size, root, float(group["eps"]), 1 - first, second, 1 - second, shrink, penalty]


def _adam(param: Any, grad: Any, slots: Any, numbers: Any, flags: Any) -> tuple[Any, tuple[Any, ...]]:
    amsgrad, maximize, decoupled = flags
    size, root, eps, rest, second, other, shrink, penalty = numbers
    grad = -grad if maximize else grad
    param, grad = (param * shrink, grad) if decoupled else (param, grad + penalty * param)
    average = slots[0] + rest * (grad - slots[0])
    square = second * slots[1] + other * grad * grad
    largest = jnp.maximum(slots[2], square) if amsgrad else square
    scale = jnp.sqrt(largest) / root + eps
    kept = (average, square, largest) if amsgrad else (average, square)
    return param - size * (average / scale), kept


_SGD = _Kind(
    lambda group: ("momentum_buffer",) if group["momentum"] else (),
    lambda group: bool(group["momentum"]),
    lambda group: (bool(group["nesterov"]), bool(group["maximize"])),
    _sgd_numbers,
    _sgd,
)
_ADAM = _Kind(
    lambda group: ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])),
    lambda _: True,
    lambda group: (bool(group["amsgrad"]), bool(group["maximize"]), bool(group["decoupled_weight_decay"])),
    _adam_numbers,
    _adam,
)
_SLOTS = ("momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")
_KINDS = {torch.optim.SGD: _SGD, torch.optim.Adam: _ADAM, torch.optim.AdamW: _ADAM}


class TorchOptimizer:
    """torch.optim's SGD, Adam or AdamW; its groups are read at every call.

    Raises:
      ArgumentError: for another optimizer, and for parameters that the module does not have.
    """

    def __init__(self, optimizer: Any, parameters: Mapping[str, Any]) -> None:
        kind = _KINDS.get(type(optimizer))
        if kind is None:
            known = ", ".join(cls.__name__ for cls in _KINDS)
            raise ArgumentError(
                f'optimizer "{type(optimizer).__name__}" of torch is not supported: '
                f"use torch.optim's {known}, or an optimizer of optax"
            )
        if hooks.has_step_hooks(optimizer):
            raise ArgumentError(
                f'optimizer "{type(optimizer).__name__}" has hooks of its steps, which are not called: '
                "change gradients by register_hook of the parameters"
            )
        self._kind = kind
        self._optimizer = optimizer
        names = {id(parameter): name for name, parameter in parameters.items()}
        if any(id(parameter) not in names for parameter in self._parameters()):
            raise ArgumentError(
                "the optimizer has a parameter that the module does not have: make it of module.parameters()"
            )
        self.names = tuple(names[id(parameter)] for parameter in self._parameters())
        self._steps = np.zeros(len(self.names))
        self._slots: list[tuple[str, ...]] = [() for _ in self.names]  # that the state has of each parameter

    def _parameters(self) -> list[Any]:
        return [parameter for group in self._optimizer.param_groups for parameter in group["params"]]

    def _groups(self) -> list[Any]:
        """The group of each parameter."""
        return [group for group in self._optimizer.param_groups for _ in group["params"]]

    def _read_steps(self) -> None:
        for index, parameter in enumerate(self._parameters()):
            entry = self._optimizer.state.get(parameter, {})
            begun = entry.get("momentum_buffer") is not None
            self._steps[index] = float(entry.get("step", begun))

    def _rows(self) -> tuple[list[tuple[Any, float]], tuple[int, ...]]:
        """Group and count of steps of each row, this step included; the row of each parameter."""
        indices = [i for i, group in enumerate(self._optimizer.param_groups) for _ in group["params"]]
        pairs = list(zip(indices, self._steps + 1, strict=True))
        kinds = list(dict.fromkeys(pairs))
        groups = self._optimizer.param_groups
        return [(groups[index], steps) for index, steps in kinds], tuple(kinds.index(pair) for pair in pairs)

    def key(self) -> Any:
        """Flags and slots of every group, and which parameters have the same numbers."""
        groups = self._optimizer.param_groups
        used = tuple((self._kind.flags(group), self._kind.slots(group)) for group in groups)
        return self._rows()[1], used, tuple(self._slots)

    def numbers(self) -> np.ndarray[Any, Any]:
        """A row of numbers for each kind of parameter, float64."""
        return np.array([self._kind.numbers(group, steps) for group, steps in self._rows()[0]])

    def read(self, state: Any) -> Any:
        """The state that torch's optimizer has now, zeros where it has none yet."""
        del state
        self._read_steps()
        trees: dict[str, dict[str, Any]] = {}
        for index, (name, parameter, group) in enumerate(self._all()):
            entry = self._optimizer.state.get(parameter, {})
            kept = {slot: entry[slot] for slot in _SLOTS if entry.get(slot) is not None}
            needed = self._kind.slots(group)
            self._slots[index] = tuple(slot for slot in _SLOTS if slot in kept or slot in needed)
            for slot in self._slots[index]:
                array = copied(kept[slot]) if slot in kept else _zeros(parameter)
                trees.setdefault(slot, {})[name] = array
        return {slot: nested(tree) for slot, tree in trees.items()}

    def completed(self, state: Any) -> Any:
        """The state with zeros for slots that a group's new settings need; others are kept, as torch does."""
        if len(self._parameters()) != len(self.names):
            raise ArgumentError("the optimizer's parameters have changed: call epl.torch.parallelize again")
        missing: dict[str, dict[str, Any]] = {}
        for index, (name, parameter, group) in enumerate(self._all()):
            for slot in self._kind.slots(group):
                if slot not in self._slots[index]:
                    missing.setdefault(slot, {})[name] = _zeros(parameter)
                    self._slots[index] += (slot,)
        for slot, new in missing.items():
            having = [name for name, slots in zip(self.names, self._slots, strict=True) if slot in slots]
            flat = {name: new[name] if name in new else lookup(state[slot], name) for name in having}
            state = {**state, slot: nested(flat)}
        return state

    def _all(self) -> Iterator[tuple[str, Any, Any]]:
        """Name, parameter and group of each."""
        return zip(self.names, self._parameters(), self._groups(), strict=True)

    def update(self, params: Arrays, gradients: Arrays, state: Any, numbers: Any) -> tuple[Arrays, Any]:
        """The parameters and the state after a step, while JAX traces."""
        rows = self._rows()[1]
        updated = dict(params)
        trees: dict[str, dict[str, Any]] = {slot: {} for slot in state}
        for name, kept, group, row in zip(self.names, self._slots, self._groups(), rows, strict=True):
            values = {slot: lookup(state[slot], name) for slot in kept}
            if name in gradients:
                used = self._kind.slots(group)
                line = [numbers[row, column] for column in range(numbers.shape[1])]
                old = [values[slot] for slot in used]
                updated[name], new = self._one(
                    params[name], gradients[name], old, line, self._kind.flags(group)
                )
                values |= dict(zip(used, new, strict=True))
            for slot, value in values.items():
                trees[slot][name] = value
        return updated, {slot: nested(tree) for slot, tree in trees.items()}

    def _one(self, param: Any, grad: Any, values: list[Any], line: list[Any], flags: Any) -> tuple[Any, Any]:
        """One parameter, in float32 at least, rounded at the end."""
        wide = jnp.promote_types(param.dtype, jnp.float32)
        operands = [value.astype(wide) for value in (param, grad, *values)]
        new, slots = self._kind.update(
            operands[0], operands[1], operands[2:], [n.astype(wide) for n in line], flags
        )
        return new.astype(param.dtype), [s.astype(v.dtype) for s, v in zip(slots, values, strict=True)]

    def stepped(self, used: Sequence[str]) -> None:
        """Counts a step of the parameters that have a gradient."""
        made = set(used)
        self._steps += [name in made and self._kind.counts(group) for name, _, group in self._all()]
        hooks.mark_stepped(self._optimizer)

    def _entries(self, state: Any) -> dict[int, dict[str, Any]]:
        """Torch's state of each parameter that has made a step, by its number."""
        found = {}
        for index, (name, slots) in enumerate(zip(self.names, self._slots, strict=True)):
            if not slots or not self._steps[index]:
                continue
            count = {"step": torch.tensor(float(self._steps[index]))} if self._kind is _ADAM else {}
            found[index] = count | {slot: to_torch(lookup(state[slot], name)) for slot in slots}
        return found

    def state_dict(self, state: Any) -> Any:
        """As torch's `optimizer.state_dict()` after as many steps."""
        return {**self._optimizer.state_dict(), "state": self._entries(state)}

    def load_state_dict(self, state: Any) -> Any:
        """The inverse of `state_dict`: torch's optimizer takes it over; gives the state of the step."""
        self._optimizer.load_state_dict(state)
        return self.read(None)

    def write_back(self, state: Any) -> None:
        """Torch's optimizer takes the state of the step over."""
        self._optimizer.load_state_dict(self.state_dict(state))


def _zeros(parameter: Any) -> np.ndarray[Any, Any]:
    """What a slot of a parameter begins with."""
    return np.zeros_like(to_host(parameter))


class OptaxOptimizer:
    """A gradient transformation of optax, on trees of parameters by the steps of their names."""

    def __init__(self, transformation: Any, parameters: Mapping[str, Any]) -> None:
        self._transformation = transformation
        self._parameters = parameters
        self.names = tuple(name for name, parameter in parameters.items() if parameter.requires_grad)

    def key(self) -> Any:
        """The program depends on nothing that changes."""
        return None

    def numbers(self) -> np.ndarray[Any, Any]:
        """Nothing is passed at a call."""
        return np.zeros((0, 0))

    def read(self, state: Any) -> Any:
        """No object of the user's holds the state: it is kept, or begins."""
        if state is not None:
            return state
        flat = {name: jnp.asarray(to_host(self._parameters[name])) for name in self.names}
        return self._transformation.init(nested(flat))

    def completed(self, state: Any) -> Any:
        """The settings of optax do not change."""
        return state

    def update(self, params: Arrays, gradients: Arrays, state: Any, numbers: Any) -> tuple[Arrays, Any]:
        """The parameters and the state after a step; a parameter that is not used has the gradient zero."""
        del numbers
        known = {name: gradients.get(name, jnp.zeros_like(params[name])) for name in self.names}
        old = {name: params[name] for name in self.names}
        updates, state = self._transformation.update(nested(known), state, nested(old))
        new = {name: (params[name] + lookup(updates, name)).astype(params[name].dtype) for name in self.names}
        return {**params, **new}, state

    def stepped(self, used: Sequence[str]) -> None:
        """The state counts its steps itself."""

    def state_dict(self, state: Any) -> Any:
        """The state with arrays of NumPy in memory of their own."""
        return jax.tree.map(np.array, state)

    def load_state_dict(self, state: Any) -> Any:
        """The inverse of `state_dict`."""
        return jax.tree.map(jnp.asarray, state)

    def write_back(self, state: Any) -> None:
        """No object of the user's holds the state."""


def optimizer(given: Any, parameters: Mapping[str, Any]) -> Optimizer:
    """The optimizer that a user gives, for parameters by their names in the module.

    Raises:
      ArgumentError: if it is none of optax or of the supported ones of torch.
    """
    if isinstance(given, torch.optim.Optimizer):
        return TorchOptimizer(given, parameters)
    if callable(getattr(given, "init", None)) and callable(getattr(given, "update", None)):
        return OptaxOptimizer(given, parameters)
    raise ArgumentError(
        "optimizer must be torch.optim's SGD, Adam or AdamW, or an optimizer of optax, "
        f"found {type(given).__name__}"
    )
