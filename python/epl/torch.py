"""`epl.torch.parallelize`: a training step of a PyTorch module becomes one that runs on all devices.

torch itself is imported by the first call; the extra `epl[torch]` has the versions that fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epl.comparison import CheckReport
from epl.config import Config
from epl.config_keys import Value
from epl.devices import Devices
from epl.errors import ArgumentError, Error
from epl.stages import Lowered

__all__ = ["Step", "parallelize"]

if TYPE_CHECKING:
    from epl.adapters.torch.step import Training


class Step:
    """A training step on EPL's devices, which hold the parameters, buffers and the optimizer's state.

    A call makes a step and returns what the loss function returns, as tensors of torch; with new shapes, or
    after `module.train()`, `module.eval()` or `requires_grad_` it compiles another program. The module keeps
    the tensors that it had until `write_back`.
    """

    def __init__(self, training: Training) -> None:
        self._training = training

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A step is not copied or pickled: it has programs and memory of devices.

        Raises:
          Error: always.
        """
        raise Error(
            "a step of epl.torch.parallelize cannot be copied or pickled: keep its state_dict(), and make "
            "another step of a copy of the module"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Makes a step on a batch: forward, backward, update, of buffers (BatchNorm's, say) too.

        Args:
          args, kwargs: of the loss function, after the module: tensors of torch, arrays of NumPy and JAX, in
            any tree; Python values are part of the program.

        Raises:
          UnsupportedError: for what docs/reference/operations.md lists, with your line.
          CompileError, ArgumentError: as of a step of JAX.
        """
        return self._training(args, kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """The loss function with every submodule in evaluation mode: no gradients, nothing is updated."""
        return self._training.evaluate(args, kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The training step for such arguments, traced: `as_text()`, `explain()`, `compile()`."""
        lowered: Lowered = self._training.lower(args, kwargs)
        return lowered

    def check(self, *args: Any, rtol: float = 1e-5, atol: float = 1e-6, **kwargs: Any) -> CheckReport:
        """Compares a training step with its unparallelized reference, as `Compiled.check`; updates nothing.

        Raises:
          CheckError: if they differ by more than the tolerance.
        """
        report: CheckReport = self._training.check(args, kwargs, rtol=rtol, atol=atol)
        return report

    def state_dict(self) -> dict[str, Any]:
        """What `torch.save` keeps of a training: `module`, `optimizer`, `key`.

        `module` and, of an optimizer of torch, `optimizer` are as torch's own `state_dict()`: tied tensors
        under all their names, numbers of parameters, groups. `key` seeds dropout.
        """
        return self._training.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of `state_dict`; the module and torch's optimizer take it over, too."""
        self._training.load_state_dict(state)

    def write_back(self) -> None:
        """Writes what it trains, buffers and the optimizer's state into the module and torch's optimizer."""
        self._training.write_back()

    def read_module(self) -> None:
        """Takes over what was changed in the module and torch's optimizer: weights that were loaded, say.

        An optimizer of optax goes on with its state.
        """
        self._training.read_module()


def parallelize(
    module: Any,
    loss_fn: Callable[..., Any],
    optimizer: Any,
    *,
    batch: str | Sequence[str] | Mapping[str, int | None] | None = None,
    share: Step | None = None,
    devices: Devices | None = None,
    config: Config | Mapping[str, Value] | None = None,
    seed: int = 0,
    name: str | None = None,
) -> Step:
    """Parallelizes the training step of a PyTorch module.

    torch differentiates: `no_grad`, `autograd.Function`, `autocast`, in-place writes and tied weights mean
    what they mean in torch. Scopes (`with epl.replicate():`, `with epl.split(2):`) stand in `forward` or in
    the loss function. Random numbers, dropout's above all, are JAX's, from `seed`, not torch's bits.

    Args:
      module: a `torch.nn.Module` on the CPU.
      loss_fn: called as `loss_fn(module, *batch)`; returns the loss, a scalar, or a tree of tensors whose
        first leaf it is.
      optimizer: torch.optim's `SGD`, `Adam` or `AdamW`, whose groups are read at every call, so that
        schedulers of torch work on it, or one of optax. Parameters that it does not have stay as they are.
      batch: parameters of `loss_fn` whose tensors the devices share along dimension 0, or a dict from them to
        that dimension (None: not shared). By default all tensors that have dimensions.
      share: another step, with whose module this one's has tensors in common (generator and critic, each
        with an optimizer): each sees what the other has made of them. Otherwise the step begins with a copy
        of what the module has.
      devices: `"cpu:N"` or a count; default those of `epl.init`.
      config: an `epl.Config` or its dict; default that of `epl.init`.
      seed: of random numbers.
      name: of the step, in messages and timelines; default the module's class.

    Raises:
      ArgumentError: for another optimizer, a module that is not on the CPU or has no shapes yet, unknown
        parameters.
      Error: if PyTorch is not installed, or in another version.
    """
    training = _training_class()
    if not isinstance(share, Step | None):
        raise ArgumentError(f"share must be a step of epl.torch.parallelize or None, found {share!r}")
    other = share._training if share else None
    options = {"devices": devices, "config": config}
    return Step(
        training(module, loss_fn, optimizer, batch=batch, share=other, name=name, seed=seed, options=options)
    )


def _training_class() -> type[Training]:
    try:
        from epl.adapters.torch.step import Training
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "torchax"):
            raise
        raise Error(
            f'epl.torch needs "{error.name}", which is not installed: pip install "epl[torch]"'
        ) from error
    return Training
