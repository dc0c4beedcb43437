"""What layers share: they append ops to Paddle's default program, and create the parameters of these.

Fluid has no tensors without dimensions, Paddle 2.6 has: what a layer returns has one dimension of one element
then, as in Fluid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epl.errors import ArgumentError, UnsupportedError
from epl.fluid.installed import load
from epl.places import calling_place

paddle = load()

Variable = paddle.static.Variable


class Builder:
    """Builds one layer.

    Args:
      layer: its kind, which its variables and parameters are named by, with a number.
      name: replaces this name.
      param_attr, bias_attr: of the parameters; False: none.
      act: the kind of an op that is applied to the result.
    """

    def __init__(
        self,
        layer: str,
        name: str | None = None,
        param_attr: Any = None,
        bias_attr: Any = None,
        act: Any = None,
    ) -> None:
        self.layer = layer
        self._param_attr = param_attr
        helper = paddle.base.layer_helper.LayerHelper
        self._helper = helper(layer, name=name, param_attr=param_attr, bias_attr=bias_attr, act=act)

    def op(
        self,
        kind: str,
        inputs: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
        *,
        output: str = "Out",
        dtype: Any = None,
        others: Mapping[str, Any] | None = None,
        into: Any = None,
    ) -> Any:
        """Appends an op.

        Args:
          inputs: by the names that the op has for them, Variables or lists of these; None: no such input.
          output: the name of the result, which is returned.
          dtype: of the result; default that of the first input.
          others: dtypes of other outputs by name, or variables that the op writes.
          into: the variable that becomes the result.

        Raises:
          ArgumentError: for inputs that are no variables, and whatever Paddle finds wrong with the op.
        """
        given = {name: _listed(value) for name, value in inputs.items() if value is not None}
        self._check(given)
        first = next((values[0].dtype for values in given.values() if values), "float32")
        made = into if into is not None else self.variable(dtype or first)
        outputs = {output: [made]}
        for name, value in (others or {}).items():
            outputs[name] = [value if isinstance(value, Variable) else self.variable(value)]
        self.append(kind, given, outputs, attributes)
        return made

    def append(
        self, kind: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], attributes: Any = None
    ) -> None:
        """Appends an op whose outputs are there."""
        try:
            self._helper.append_op(
                type=kind, inputs=dict(inputs), outputs=dict(outputs), attrs=dict(attributes or {})
            )
        except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:
            raise ArgumentError(f"layers.{self.layer}: {reason(error)}") from error

    def _check(self, inputs: Mapping[str, Sequence[Any]]) -> None:
        for name, values in inputs.items():
            if not values:
                raise ArgumentError(f"layers.{self.layer}: expected Variables for {name}, found none")
            for value in values:
                if not isinstance(value, Variable):
                    raise ArgumentError(
                        f"layers.{self.layer}: expected a Variable for {name}, found {type(value).__name__}"
                    )

    def variable(self, dtype: Any) -> Any:
        """A variable that an op is going to write."""
        return self._helper.create_variable_for_type_inference(dtype)

    def parameter(
        self,
        shape: Sequence[int],
        dtype: Any,
        attr: Any = None,
        *,
        is_bias: bool = False,
        default: Any = None,
    ) -> Any:
        """A parameter; `default` initializes it if its attributes don't."""
        if any(extent is None or extent <= 0 for extent in shape):
            raise ArgumentError(
                f"layers.{self.layer}: a parameter would have the shape {list(shape)}: all dimensions of the "
                "input but the batch have to be known"
            )
        create = self._helper.create_parameter
        return create(attr, list(shape), dtype, is_bias=is_bias, default_initializer=default)

    def state(self, shape: Sequence[int], dtype: Any, value: float) -> Any:
        """A persistable variable that is no parameter, which the startup program fills with a number."""
        made = self._helper.create_global_variable(persistable=True, dtype=dtype, shape=list(shape))
        self._helper.set_variable_initializer(made, paddle.nn.initializer.Constant(value))
        made.stop_gradient = True
        return made

    def param_attrs(self, count: int) -> list[Any]:
        """The attributes of as many parameters, one for each or one for all."""
        return list(self._helper.multiple_param_attr(count)) if count > 1 else [self._param_attr]

    def bias(self, x: Any, dim: int, end: int | None = None) -> Any:
        """The value plus a bias along dimensions, if the layer has one."""
        return self._helper.append_bias_op(x, dim, end)

    def activation(self, x: Any) -> Any:
        """The layer's activation of a value."""
        return self._helper.append_activation(x)

    def unsupported(self, what: str) -> UnsupportedError:
        """An error that names what the layer does not have."""
        return UnsupportedError(f"layers.{self.layer}: {what} is not supported", calling_place())

    def numbers(self, name: str, value: Any, count: int | None = None) -> list[int]:
        """Integers of an argument; one stands for `count` equal ones.

        Raises:
          UnsupportedError: for variables, which Fluid takes for shapes.
          ArgumentError: for what are no integers, and for too many or few of them.
        """
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        if isinstance(value, Variable) or any(isinstance(each, Variable) for each in values):
            raise self.unsupported(f"a Variable as {name}")
        if any(isinstance(each, bool) or int(each) != each for each in values):
            raise ArgumentError(f"layers.{self.layer}: expected integers as {name}, found {value!r}")
        values = values * count if count and len(values) == 1 else values
        if count and len(values) != count:
            raise ArgumentError(f"layers.{self.layer}: expected {count} numbers as {name}, found {value!r}")
        return [int(each) for each in values]


def one_dimension(x: Any) -> Any:
    """A value without dimensions as one of one element."""
    if len(x.shape) > 0:
        return x
    return Builder("reshape").op("reshape2", {"X": x}, {"shape": [1]}, others={"XShape": x.dtype})


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def reason(error: Exception) -> str:
    """What Paddle says, without the stack of its C++."""
    lines = [line.strip() for line in str(error).splitlines()]
    begin = next((index for index, line in enumerate(lines) if "Error Message Summary" in line), None)
    if begin is None:
        return " ".join(line for line in lines if line)
    return " ".join(line for line in lines[begin + 2 :] if line and not line.startswith("[operator"))
