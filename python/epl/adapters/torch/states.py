"""The tensors of a module as states of a step, and whether the module is still as it was.

A cell holds what one tensor has become on EPL's devices. Steps that are to train the same tensors, those of a
generator and its critic, have the same cells. The module keeps what it had until it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from epl.adapters.torch import hooks
from epl.adapters.torch.tensors import copied, lookup, nested, to_torch
from epl.errors import ArgumentError


class _Cell:
    """What a tensor has become: an array of the host at first, then an `epl.Array`."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: Any = None


class Tensors:
    """Parameters and buffers of a module, by name.

    Args:
      module: of torch.
      trained: names of the parameters that an optimizer updates.
      shared: of another step; tensors that both have stay one.
    """

    def __init__(self, module: Any, trained: Sequence[str], shared: Tensors | None) -> None:
        self._module = module
        self.parameters = dict(module.named_parameters())
        self.trained = tuple(trained)
        self._parts = [(part, hooks.own_parts(part)) for part in module.modules()]
        updated, found = set(trained), self._all()
        known = shared.by_id() if shared else {}
        self._cells = {name: known.get(id(tensor)) or _Cell() for name, tensor in found.items()}
        # What is not trained: parameters that no optimizer has, buffers.
        self.rest = tuple(name for name in self._cells if name not in updated)
        self._read([name for name, cell in self._cells.items() if cell.array is None])

    def _tensors(self) -> dict[str, Any]:
        """The tensors that have cells: a buffer may be assigned anew."""
        return {name: tensor for name, tensor in self._all().items() if name in self._cells}

    def _all(self) -> dict[str, Any]:
        return {**self.parameters, **dict(self._module.named_buffers())}

    def by_id(self) -> dict[int, _Cell]:
        """The cells by what identifies their tensors."""
        return {id(tensor): self._cells[name] for name, tensor in self._tensors().items()}

    def are_copies(self, other: Tensors) -> bool:
        """Whether both have a tensor of torch, and not as one."""
        own, others = self.by_id(), other.by_id()
        return any(own[key] is not others[key] for key in own.keys() & others.keys())

    def read(self) -> None:
        """Takes over what the module has, in memory of its own."""
        self._read(self._cells)

    def _read(self, names: Iterable[str]) -> None:
        tensors = self._tensors()
        for name in names:
            self._cells[name].array = copied(tensors[name])

    def trees(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is trained and the rest, by the steps of their names."""
        return self._tree(self.trained), self._tree(self.rest)

    def _tree(self, names: Sequence[str]) -> dict[str, Any]:
        return nested({name: self._cells[name].array for name in names})

    def update(self, params: Any, buffers: Any) -> None:
        """Takes over the states after a step."""
        for tree, names in ((params, self.trained), (buffers, self.rest)):
            for name in names:
                self._cells[name].array = lookup(tree, name)

    def state_dict(self) -> dict[str, Any]:
        """The module's `state_dict` with these tensors, also under the names of tied ones."""
        names = {id(tensor): name for name, tensor in self._tensors().items()}
        return {
            key: to_torch(self._cells[names[id(value)]].array) if id(value) in names else value
            for key, value in self._module.state_dict(keep_vars=True).items()
        }

    def write_back(self) -> None:
        """The module takes over what a step changes: parameters that are trained, buffers."""
        kept = self.parameters.keys() - set(self.trained)
        changed = {name: tensor for name, tensor in self._tensors().items() if name not in kept}
        with torch.no_grad():
            for name, tensor in changed.items():
                tensor.copy_(to_torch(self._cells[name].array))

    def check_module(self) -> None:
        """Raises `ArgumentError` if submodules or parameters are not those that the step was made of."""
        for part, expected in self._parts:
            if hooks.own_parts(part) != expected:
                path = next(path for path, other in self._module.named_modules() if other is part)
                raise ArgumentError(
                    f"{_described(path, part)} has other submodules, parameters or buffers than when "
                    "epl.torch.parallelize was called: write back what was trained and call it again"
                )


def _described(path: str, part: Any) -> str:
    return f'"{path}"' if path else f"the module ({type(part).__name__})"
