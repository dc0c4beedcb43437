"""A few nets of several layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.fluid import layers
from epl.fluid.layers.registry import missing

_NETS = ("glu", "img_conv_group", "scaled_dot_product_attention", "simple_img_conv_pool")


def __getattr__(name: str) -> Any:
    raise AttributeError(missing("epl.fluid.nets has no net", name, _NETS))


def simple_img_conv_pool(
    input: Any,
    num_filters: int,
    filter_size: Any,
    pool_size: Any,
    pool_stride: Any,
    pool_padding: Any = 0,
    pool_type: str = "max",
    global_pooling: bool = False,
    conv_stride: Any = 1,
    conv_padding: Any = 0,
    conv_dilation: Any = 1,
    conv_groups: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    use_cudnn: bool = True,
) -> Any:
    """A convolution and a pooling."""
    convolved = layers.conv2d(
        input,
        num_filters,
        filter_size,
        stride=conv_stride,
        padding=conv_padding,
        dilation=conv_dilation,
        groups=conv_groups,
        param_attr=param_attr,
        bias_attr=bias_attr,
        act=act,
        use_cudnn=use_cudnn,
    )
    return layers.pool2d(
        convolved,
        pool_size,
        pool_type,
        pool_stride,
        pool_padding,
        global_pooling=global_pooling,
        use_cudnn=use_cudnn,
    )


def img_conv_group(
    input: Any,
    conv_num_filter: Sequence[int],
    pool_size: Any,
    conv_padding: Any = 1,
    conv_filter_size: Any = 3,
    conv_act: str | None = None,
    param_attr: Any = None,
    conv_with_batchnorm: Any = False,
    conv_batchnorm_drop_rate: Any = 0.0,
    pool_stride: Any = 1,
    pool_type: str = "max",
    use_cudnn: bool = True,
) -> Any:
    """As many convolutions as there are numbers of filters, with BatchNorm and dropout or not, and a pooling.

    Args:
      conv_padding, conv_filter_size, param_attr, conv_with_batchnorm, conv_batchnorm_drop_rate: one for all
        convolutions, or a list of one for each.
    """
    each = zip(
        conv_num_filter,
        *(
            _for_each(name, value, len(conv_num_filter))
            for name, value in (
                ("conv_padding", conv_padding),
                ("conv_filter_size", conv_filter_size),
                ("param_attr", param_attr),
                ("conv_with_batchnorm", conv_with_batchnorm),
                ("conv_batchnorm_drop_rate", conv_batchnorm_drop_rate),
            )
        ),
        strict=True,
    )
    x = input
    for filters, padding, size, attr, is_normal, drop_rate in each:
        act = None if is_normal else conv_act
        x = layers.conv2d(x, filters, size, padding=padding, param_attr=attr, act=act, use_cudnn=use_cudnn)
        if is_normal:
            x = layers.batch_norm(x, act=conv_act)
            x = layers.dropout(x, drop_rate) if abs(drop_rate) > 1e-5 else x
    return layers.pool2d(x, pool_size, pool_type, pool_stride, use_cudnn=use_cudnn)


def _for_each(name: str, value: Any, count: int) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ArgumentError(f"nets.img_conv_group: expected {count} values as {name}, found {len(value)}")
    return list(value)


def glu(input: Any, dim: int = -1) -> Any:
    """One half of a dimension times the sigmoid of the other."""
    value, gate = layers.split(input, 2, dim)
    return layers.elementwise_mul(value, layers.sigmoid(gate))


def scaled_dot_product_attention(
    queries: Any, keys: Any, values: Any, num_heads: int = 1, dropout_rate: float = 0.0
) -> Any:
    """What queries find: the sum of values by the softmax of products with keys.

    Args:
      queries, keys, values: [batch, length, width]; the width is divided between the heads, and if there are
        several, each is projected first.
    """
    for name, one, other in (("queries", queries, num_heads), ("values", values, num_heads)):
        if len(one.shape) != 3 or one.shape[-1] % other:
            raise ArgumentError(
                f"nets.scaled_dot_product_attention: expected {name} of [batch, length, width], of a width "
                f"that {num_heads} divides, found {list(one.shape)}"
            )
    if queries.shape[-1] != keys.shape[-1] or keys.shape[1] != values.shape[1]:
        raise ArgumentError(
            "nets.scaled_dot_product_attention: expected keys as wide as queries and as many as values, "
            f"found {list(queries.shape)}, {list(keys.shape)} and {list(values.shape)}"
        )
    if num_heads > 1:
        queries, keys, values = (
            layers.fc(each, each.shape[-1], num_flatten_dims=2) for each in (queries, keys, values)
        )
    split = [_heads(each, num_heads) for each in (queries, keys, values)]
    query = layers.scale(split[0], (keys.shape[-1] // num_heads) ** -0.5)
    weights = layers.softmax(layers.matmul(query, split[1], transpose_y=True))
    if dropout_rate:
        weights = layers.dropout(weights, dropout_rate)
    return _together(layers.matmul(weights, split[2]), num_heads)


def _heads(x: Any, count: int) -> Any:
    """[batch, heads, length, width of one]; as it is for one head."""
    if count == 1:
        return x
    return layers.transpose(layers.reshape(x, [0, 0, count, x.shape[-1] // count]), [0, 2, 1, 3])


def _together(x: Any, count: int) -> Any:
    if count == 1:
        return x
    turned = layers.transpose(x, [0, 2, 1, 3])
    return layers.reshape(turned, [0, 0, turned.shape[2] * turned.shape[3]])
