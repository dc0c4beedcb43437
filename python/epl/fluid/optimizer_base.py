"""What all optimizers of `epl.fluid` have."""

from __future__ import annotations

from typing import Any

from epl.errors import ArgumentError
from epl.fluid.backward import checked_loss
from epl.fluid.clip import clip_as_set
from epl.fluid.installed import load
from epl.fluid.layers.builder import Variable

paddle = load()

_base = paddle.optimizer


class Optimizer(_base.Optimizer):  # type: ignore[misc, name-defined]
    """What all have: a learning rate that is a number or computed by the program, and Fluid's methods."""

    _rate: Any

    def _set_rate(self, learning_rate: Any) -> float:
        """Keeps the rate; returns a number for Paddle 2.6, which takes no Variable."""
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float, Variable)):
            raise ArgumentError(
                f"optimizer: expected a number or a Variable as learning_rate, found {learning_rate!r}"
            )
        self._rate = learning_rate
        return 0.0 if isinstance(learning_rate, Variable) else float(learning_rate)

    def _create_global_learning_rate(self) -> None:
        program = paddle.static.default_main_program()
        if program in self._learning_rate_map:
            return
        if isinstance(self._rate, Variable):
            if self._rate.block.program is not program:
                raise ArgumentError(
                    f'optimizer: the learning_rate "{self._rate.name}" is of another program than the loss'
                )
            self._learning_rate_map[program] = self._rate
            return
        self._learning_rate_map[program] = paddle.static.create_global_var(
            name=paddle.utils.unique_name.generate("learning_rate"),
            shape=[1],
            value=float(self._rate),
            dtype=self._dtype or "float32",
            persistable=True,
        )

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Appends the gradient ops; the first half of `minimize`.

        Returns:
          pairs of a parameter and its gradient.
        """
        return list(
            super().backward(checked_loss(loss), startup_program, parameter_list, no_grad_set, callbacks)
        )

    def apply_gradients(self, params_grads: list[tuple[Any, Any]]) -> list[Any]:
        """Appends the ops that cut gradients, add penalties and update; the second half of `minimize`.

        Returns:
          the ops that update.
        """
        ordered = sorted(params_grads, key=lambda pair: pair[0].name)
        clipped = self._grad_clip(ordered) if self._grad_clip is not None else clip_as_set(ordered)
        regularized = self.append_regularization_ops(clipped, self.regularization)
        return list(self._create_optimization_pass(regularized))

    def apply_optimize(
        self, loss: Any, startup_program: Any, params_grads: list[tuple[Any, Any]]
    ) -> list[Any]:
        """`apply_gradients` in the program of a loss."""
        with paddle.static.program_guard(loss.block.program, startup_program):
            return self.apply_gradients(params_grads)

    def minimize(
        self, loss: Any, startup_program: Any = None, parameter_list: Any = None, no_grad_set: Any = None
    ) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """Appends the ops that make a loss smaller.

        Args:
          loss: of one element.
          startup_program: which gets the ops that begin what the optimizer keeps; default the default one.
          parameter_list: variables or names; default all parameters that are trained.
          no_grad_set: variables or names that no gradient goes through.

        Returns:
          the ops that update, and pairs of a parameter and its gradient.
        """
        params_grads = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, params_grads), params_grads
