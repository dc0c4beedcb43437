"""The MLIR text that the JAX adapter makes: entry attributes, name stacks, raised operations."""

from __future__ import annotations

import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from conftest import Lower, MlirOpt
from epl.adapters.jax.trace import Argument, Result
from epl.scope_table import Kind, Strategy

X = np.zeros((4, 8), np.float32)
W = np.zeros((8, 3), np.float32)


def stacks(text: str, op: str) -> list[str]:
    """Name stacks of all operations `op`, from locations printed in place; a callee's names follow `>`."""
    found = []
    for line in text.splitlines():
        if re.match(rf'\s*(%\S+ = )?"?{re.escape(op)}\b', line) and " loc(" in line:
            location = line.rsplit(" loc(", 1)[1]
            quoted = re.finditer(r'"([^"]*)"', location)  # name stacks, files, functions of frames
            names = [m[1] for m in quoted if not re.match(r':\d|\("[^"]*":\d', location[m.end() :])]
            found.append(" > ".join(reversed(names)))
    return found


def test_entry_attributes(lower: Lower, mlir_opt: MlirOpt) -> None:
    program = lower(
        lambda w, x: (w - x.sum(), x.mean()),
        W,
        X,
        arguments=[Argument("params['w']", "state"), Argument("x", "batch", 0)],
        results=[Result("params['w']", 0), Result("loss")],
        default=Strategy(Kind.REPLICATE, 1),
    )
    entry = next(line for line in mlir_opt(program.text).splitlines() if "@main" in line)
    for expected in (
        "func.func public @main(",
        """tensor<8x3xf32> {epl.name = "params['w']", epl.role = "state"}""",
        """loc("params['w']"("user.py":3:1))""",
        'tensor<4x8xf32> {epl.batch_dim = 0 : i64, epl.name = "x", epl.role = "batch"}',
        """tensor<8x3xf32> {epl.name = "params['w']", epl.updates = 0 : i64}""",
        'tensor<f32> {epl.name = "loss"}',
        "epl.default_strategy = #epl.strategy<replicate, 1>",
    ):
        assert expected in entry


def test_scope_table(lower: Lower, mlir_opt: MlirOpt) -> None:
    def step(x: jax.Array, w: jax.Array) -> jax.Array:
        with epl.replicate(name="encoder"):
            h = x @ w
        with epl.split(device_count=2):
            return jnp.sin(h)

    text = mlir_opt(lower(step, X, W).text)
    places = r"at loc\(.*\)"
    table = rf's0 = #epl.scope<replicate, 1, "encoder" {places}>, s1 = #epl.scope<split, 2, "" {places}>'
    assert re.search(table, text)
    assert stacks(text, "linalg.matmul") == ["jit(step)/epl.s0/dot_general"]
    assert stacks(text, "math.sin") == ["jit(step)/epl.s1/sin"]


def test_no_scope_no_table(lower: Lower) -> None:
    text = lower(lambda x: x + 1, X).text
    assert "epl.scopes" not in text
    assert "epl.default_strategy" not in text


def test_backward_keeps_the_scope_and_optimizer_has_none(lower: Lower, mlir_opt: MlirOpt) -> None:
    def step(w: jax.Array, x: jax.Array) -> jax.Array:
        def loss(w: jax.Array) -> jax.Array:
            with epl.replicate():
                return jnp.sum(jnp.tanh(x @ w))

        return jnp.sqrt(w - jax.grad(loss)(w))

    text = mlir_opt(lower(step, W, X).text)
    assert stacks(text, "math.tanh") == ["jit(step)/jvp(epl.s0)/tanh"]
    assert "jit(step)/transpose(jvp(epl.s0))/dot_general" in text
    assert stacks(text, "math.sqrt") == ["jit(step)/sqrt"]


def test_calls_are_inlined_with_their_call_site(lower: Lower, mlir_opt: MlirOpt) -> None:
    @jax.jit
    def inner(x: jax.Array) -> jax.Array:
        with jax.named_scope("deep"):
            return jnp.cos(x)

    @jax.jit
    def outer(x: jax.Array) -> jax.Array:
        return inner(x) + 1

    def step(x: jax.Array) -> jax.Array:
        with epl.replicate():
            return outer(x)

    text = mlir_opt(lower(step, X).text)
    assert "call @" not in text
    assert text.count("func.func") == 1
    assert stacks(text, "math.cos") == ["jit(step)/epl.s0/jit(outer) > jit(inner) > deep/cos"]


def test_calls_are_inlined_at_every_site(lower: Lower, mlir_opt: MlirOpt) -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate():
            a = jax.nn.silu(x)
        with epl.replicate():
            return jax.nn.silu(a) * a

    text = mlir_opt(lower(step, X).text)
    sites = [stack.split(" > ")[0] for stack in stacks(text, "math.exp")]
    assert sites == ["jit(step)/epl.s0/jit(silu)", "jit(step)/epl.s1/jit(silu)"]


def test_loops_are_unrolled_where_they_stand(lower: Lower, mlir_opt: MlirOpt) -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate():
            return jax.lax.scan(lambda carry, row: (jnp.sin(carry * row), carry), x[0], x)[0]

    text = mlir_opt(lower(step, X).text)
    body = "jit(step)/epl.s0/while/body/closed_call > sin"
    assert stacks(text, "math.sin") == [body] * len(X)


def test_stacks_between_two_loops_are_not_made(lower: Lower) -> None:
    def step(x: jax.Array) -> jax.Array:
        return jax.grad(lambda x: jax.lax.scan(lambda c, row: (jnp.sin(c * row), None), x[0], x)[0].sum())(x)

    text = lower(step, X).text
    assert text.count("epl.concatenate") == 1  # the gradient itself


def test_equal_operations_of_two_scopes_stay_apart(lower: Lower) -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate():
            a = jnp.sin(x)
        with epl.replicate():
            b = jnp.sin(x)
        return a + b

    assert lower(step, X).text.count("math.sin") == 2


def test_unused_arguments_stay(lower: Lower) -> None:
    assert "%arg2: tensor<4x8xf32>" in lower(lambda a, b, c: c + 1, X, W, X).text


def test_concatenate_is_raised(lower: Lower, mlir_opt: MlirOpt) -> None:
    text = mlir_opt(lower(lambda x: jnp.concatenate([x, x * 2], axis=1), X).text)
    assert re.search(r'"epl.concatenate"\(%\S+, %\S+\) \{dim = 1 : i64\} : .* -> tensor<4x16xf32>', text)
    assert "tensor.extract" not in text


def test_closed_over_arrays_are_hidden_arguments(lower: Lower, mlir_opt: MlirOpt) -> None:
    table = np.arange(400, dtype=np.float32).reshape(4, 100)
    mask = np.arange(110) % 3 == 0
    small, shown = np.arange(8, dtype=np.float32), np.arange(100) % 3 == 0

    def step(x: jax.Array) -> tuple[jax.Array, ...]:
        picked = jnp.where(mask, x[0, 0], 0).sum() + jnp.where(shown, x[0, 0], 0).sum()
        return x @ jnp.ones((8, 100)) + table, (x * small).sum(), jnp.asarray(table).sum() + picked

    program = lower(step, X)
    text = mlir_opt(program.text)
    assert len(program.hidden) == 2
    for index, value in enumerate(program.hidden):
        np.testing.assert_array_equal(value, {(4, 100): table, (110,): mask}[value.shape])
        kind = {"f": "4x100xf32", "b": "110xi1"}[value.dtype.kind]
        attributes = f'{{epl.hidden, epl.name = "hidden[{index}]", epl.role = "constant"}}'
        assert f"%arg{index + 1}: tensor<{kind}> {attributes}" in text


def test_random_bits_are_signless(lower: Lower, mlir_opt: MlirOpt) -> None:
    def step(key: jax.Array, data: jax.Array) -> tuple[jax.Array, ...]:
        keys = jax.random.split(key)
        return keys, jax.random.uniform(keys[0], (5, 3)), data // 3

    text = mlir_opt(lower(step, jax.random.key(0), np.zeros(7, np.uint32)).text)
    assert "ui32" not in text
    assert "unrealized_conversion_cast" not in text
    assert "arith.divui" in text
    assert "%arg0: tensor<2xi32>" in text


def test_random_bits_are_one_operation(lower: Lower, mlir_opt: MlirOpt) -> None:
    def step(key: jax.Array) -> tuple[jax.Array, ...]:
        with epl.replicate():
            return tuple(jax.random.bits(k, (5, 3)) for k in jax.random.split(key, 3))

    text = mlir_opt(lower(step, jax.random.key(0)).text)
    hashes = [line for line in text.splitlines() if re.match(r"\s*%\S+:2 = linalg.generic", line)]
    assert len(hashes) == 4  # one that splits the key, then one for each array
    assert text.count("linalg.generic") < 40
    assert any(stack.startswith("jit(step)/epl.s0") for stack in stacks(text, "arith.xori"))


def test_numbers_are_no_operations(lower: Lower, mlir_opt: MlirOpt) -> None:
    text = mlir_opt(lower(lambda x: (x * 3 + 1) / 7, X).text)
    assert text.count("linalg.generic") == 3
    assert "dense<" not in text


def test_rows_of_stacks_are_read_as_they_were(lower: Lower, mlir_opt: MlirOpt) -> None:
    def step(x: jax.Array) -> jax.Array:
        _, rows = jax.lax.scan(lambda c, row: (jnp.sin(c), c * row), x[0], x)
        return jax.lax.scan(lambda c, row: (jnp.cos(c * row), None), x[0], rows)[0]

    text = mlir_opt(lower(step, X).text)
    assert "epl.concatenate" not in text
    assert text.count("linalg.generic") == 4 * len(X) - 1  # nothing reads the last sine


def test_sorts_are_raised(lower: Lower, mlir_opt: MlirOpt) -> None:
    text = mlir_opt(lower(lambda x: jnp.argsort(x, 0), X).text)
    assert re.search(r'"epl.sort"\(%\S+, %\S+\) \(\{\n *\^bb0\(.*: f32 .*: f32 .*: i32 .*: i32 ', text)
    assert (
        "}) {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)"
        in text
    )


@pytest.mark.parametrize(
    ("step", "extent"),
    [
        (lambda x: jax.lax.top_k(x, 3), 3),
        (lambda x: jnp.sort(x)[:, :5], 5),
        (lambda x: jnp.sort(x)[:, 1:5], 8),
        (lambda x: jnp.sort(x)[:2, :5], 8),
        (lambda x: jnp.sort(x)[:, :5:2], 8),
        (lambda x: (lambda y: (y[:, :5], y[:, :4]))(jnp.sort(x)), 8),
        (lambda x: (lambda y: (y[:, :5], y.sum()))(jnp.sort(x)), 8),
    ],
)
def test_sorts_of_which_the_first_elements_are_read_give_these(
    lower: Lower, mlir_opt: MlirOpt, step: object, extent: int
) -> None:
    text = mlir_opt(lower(step, X).text)
    assert re.search(rf"\}}\) \{{dim = 1 : i64\}} : .* -> \(?tensor<4x{extent}xf32>", text)


def test_optimizers_lower(lower: Lower, mlir_opt: MlirOpt) -> None:
    for make in (optax.sgd, optax.adam, optax.adamw, optax.lamb, optax.rmsprop):
        optimizer = make(1e-3)
        state, tree = jax.tree.flatten(optimizer.init(W))

        def step(
            w: jax.Array,
            g: jax.Array,
            *leaves: jax.Array,
            optimizer: optax.GradientTransformation = optimizer,
            tree: jax.tree_util.PyTreeDef = tree,
        ) -> object:
            return optimizer.update(g, jax.tree.unflatten(tree, leaves), w)

        mlir_opt(lower(step, W, W, *state).text)


def test_unsupported_operation_of_a_library_names_the_users_line(lower: Lower) -> None:
    def step(x: jax.Array) -> jax.Array:
        return jax.scipy.linalg.qr(x[:4, :4], pivoting=True)[1]

    line = sys._getframe().f_lineno - 2
    with pytest.raises(epl.UnsupportedError, match="geqp3") as error:
        lower(step, X)
    assert error.value.place == epl.errors.Place(__file__, line)


CAPTURED = {
    "scalar predicate": lambda x: x.var(0),
    "pad with a converted value": lambda x: jnp.pad(x, 1),
    "pad of bools": lambda x: jnp.pad(x > 0, 1, constant_values=True),
    "pad of integers": lambda x: jnp.pad(x.astype(jnp.uint8), 1, constant_values=255),
    "pad by a constant": lambda x: jnp.pad(x, 1, constant_values=2.5),
    "pad by a computed value": lambda x: jnp.pad(x, 1, constant_values=x[0, 0]),
    "clamp by scalars": lambda x: jnp.clip(x, -1, x[0, 0]),
    "static index": lambda x: x[-1] + x[0],
    "gather": lambda x: x[jnp.array([0, 2])],
    "scatter": lambda x: x.at[x[0, 0].astype(int)].add(1.0),
    "dynamic slice": lambda x: jax.lax.dynamic_slice(x, (x[0, 0].astype(int), 0), (2, 8)),
    "dynamic update": lambda x: jax.lax.dynamic_update_slice(x, x[:2], (x[0, 0].astype(int), 0)),
    "integer labels": lambda x: jax.grad(
        lambda x: optax.softmax_cross_entropy_with_integer_labels(x, jnp.zeros(len(x), int)).mean()
    )(x),
    "update at a static index": lambda x: jax.lax.dynamic_update_slice(x, x[:2], (0, 0)),
    "clip by global norm": lambda x: optax.clip_by_global_norm(1.0).update(x, optax.EmptyState())[0],
    "unrolled scan": lambda x: jax.lax.scan(lambda c, row: (c * row, c), x[0], x, unroll=True),
    "remat": lambda x: jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum()))(x),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_no_operand_is_hidden(lower: Lower, mlir_opt: MlirOpt, name: str) -> None:
    text = mlir_opt(lower(CAPTURED[name], X).text)
    assert "tensor.extract " not in text
    assert not re.search(r"^    %\S+ = arith\.(?!constant)", text, re.M)


def test_dead_operations_are_no_error(lower: Lower) -> None:
    assert "fft" not in lower(lambda x: (jnp.fft.fft(x), x)[1], X).text


def test_recomputed_operations_know_it(lower: Lower, mlir_opt: MlirOpt) -> None:
    def step(x: jax.Array) -> jax.Array:
        def loss(x: jax.Array) -> jax.Array:
            with epl.replicate():
                return jnp.sum(jnp.exp(jnp.sin(x)))

        return jax.value_and_grad(jax.checkpoint(loss))(x)

    found = stacks(mlir_opt(lower(step, X).text), "math.sin")
    assert len(found) == 2
    assert sum("rematted_computation" in stack for stack in found) == 1


def test_collectives_are_refused(lower: Lower) -> None:
    line = sys._getframe().f_lineno + 2
    with pytest.raises(epl.UnsupportedError, match="remove it: the step is global") as error:
        lower(lambda x: jax.lax.pmean(x, "data"), X)
    assert error.value.place == epl.errors.Place(__file__, line)


def test_collectives_of_vmap_are_ordinary(lower: Lower) -> None:
    assert "main" in lower(jax.vmap(lambda v: v - jax.lax.pmean(v, "i"), axis_name="i"), X).text


def test_sharding_constraint_is_ignored_with_one_warning(lower: Lower) -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("a",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a"))

    def step(x: jax.Array) -> jax.Array:
        return jax.lax.with_sharding_constraint(jax.lax.with_sharding_constraint(x, sharding) * 2, sharding)

    with pytest.warns(UserWarning, match="with_sharding_constraint is ignored") as warnings:
        text = lower(step, X).text
    assert len(warnings) == 1
    assert "sdy" not in text
