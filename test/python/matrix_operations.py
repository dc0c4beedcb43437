"""Operations on whole matrices, by groups, each of a batch of square ones; none depends on signs."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jax import lax

Operation = Callable[[jax.Array], jax.Array]


def positive(a: jax.Array) -> jax.Array:
    """A symmetric matrix, positive definite and of distinct eigenvalues."""
    n = a.shape[-1]
    return a @ a.mT / n + jnp.diag(1.0 + jnp.arange(n))


def regular(a: jax.Array) -> jax.Array:
    """One that is far from singular, with rows that change places."""
    return a[..., ::-1, :] / 4 + jnp.diag(2.0 + jnp.arange(a.shape[-1]))[::-1]


def of_eigenvalues(a: jax.Array, function: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """The function of a symmetric matrix."""
    w, v = jnp.linalg.eigh(a)
    return (v * function(w)[..., None, :]) @ v.mT


def solved(**options: bool | str | int) -> Operation:
    """A triangular system of a form."""
    batched = jax.vmap(lambda a: jsl.solve_triangular(a + 4 * jnp.eye(a.shape[-1]), a[:, :2], **options))
    return lambda a: batched(a / 4)


def approximated(a: jax.Array) -> jax.Array:
    """What the two largest singular values make."""
    u, s, vt = jnp.linalg.svd(a, full_matrices=False)
    return (u[..., :2] * s[..., None, :2]) @ vt[..., :2, :]


def parts_of_lu(a: jax.Array) -> jax.Array:
    """The factors, rows as they were."""
    return jax.vmap(lambda a: jnp.concatenate(jsl.lu(a), axis=1))(regular(a))


def both_factors(a: jax.Array, mode: str) -> jax.Array:
    """q above r."""
    return jnp.concatenate(jnp.linalg.qr(a, mode=mode), axis=-2)


GROUPS: dict[str, dict[str, Operation]] = {
    "cholesky": {
        "cholesky": lambda a: jnp.linalg.cholesky(positive(a)),
        "upper": lambda a: jnp.linalg.cholesky(positive(a), upper=True),
        "as given": lambda a: jnp.linalg.cholesky(positive(a), symmetrize_input=False),
        "solve": lambda a: jax.vmap(lambda p, b: jsl.cho_solve(jsl.cho_factor(p), b))(positive(a), a),
        "positive solve": lambda a: jax.vmap(lambda p: jsl.solve(p, p[0] + 1, assume_a="pos"))(positive(a)),
    },
    "triangular systems": {
        "lower": solved(lower=True),
        "upper": solved(),
        "transposed": solved(trans=1),
        "lower, transposed": solved(lower=True, trans="T"),
        "unit diagonal": solved(lower=True, unit_diagonal=True),
        "from the right": lambda a: lax.linalg.triangular_solve(positive(a), a[:, :3], lower=True),
        "one matrix, right-hand sides of a batch": lambda a: jax.vmap(
            lambda b: jsl.solve_triangular(jnp.tril(jnp.ones(b.shape) + 1), b, lower=True)
        )(a),
    },
    "lu": {
        "solve": lambda a: jnp.linalg.solve(regular(a), a[..., :2]),
        "of a vector": lambda a: jnp.linalg.solve(regular(a), a[..., :1])[..., 0],
        "inv": lambda a: jnp.linalg.inv(regular(a)),
        "det": lambda a: jnp.linalg.det(regular(a)),
        "slogdet": lambda a: jnp.stack(jnp.linalg.slogdet(regular(a))),
        "lu": parts_of_lu,
        "lu_solve": lambda a: jax.vmap(
            lambda a: jsl.lu_solve(jsl.lu_factor(a), jnp.cos(a[0]), trans=1)  # of a[0] it is no function of a
        )(regular(a)),
        "power": lambda a: jnp.linalg.matrix_power(regular(a) / 2, -3),
        "expm": lambda a: jax.vmap(jsl.expm)(a / 2),
    },
    "qr": {
        "square": lambda a: both_factors(a, "reduced"),
        "tall": lambda a: both_factors(a[..., :3], "reduced"),
        "wide": lambda a: jnp.linalg.qr(a[:, :3])[1],
        "complete": lambda a: jnp.linalg.qr(a[..., :3], mode="complete")[0],
        "r": lambda a: jnp.linalg.qr(a, mode="r"),
    },
    "eigh": {
        "eigvalsh": lambda a: jnp.linalg.eigvalsh(positive(a)),
        "by the upper triangle": lambda a: jnp.linalg.eigvalsh(positive(a), UPLO="U"),
        "fractional root": lambda a: of_eigenvalues(positive(a), lambda w: w**-0.25),
        "log": lambda a: of_eigenvalues(positive(a), jnp.log),
        "projection": lambda a: of_eigenvalues(positive(a), lambda w: jnp.arange(w.shape[-1]) > 2.0),
        "hermitian norm": lambda a: jnp.linalg.svd(positive(a), compute_uv=False, hermitian=True),
    },
    "svd": {
        "svdvals": lambda a: jnp.linalg.svdvals(a),
        "low rank": approximated,
        "low rank, tall": lambda a: approximated(a[..., :3]),
        "low rank, wide": lambda a: approximated(a[:, :3]),
        "pinv": lambda a: jnp.linalg.pinv(a[..., :3]),
        "lstsq": lambda a: jax.vmap(lambda a: jnp.linalg.lstsq(a[:, :3], a[:, 3])[0])(a),
        "norm": lambda a: jnp.linalg.norm(a, ord=2, axis=(-2, -1)),
        "nuclear norm": lambda a: jnp.linalg.norm(a, ord="nuc", axis=(-2, -1)),
        "cond": lambda a: jnp.linalg.cond(regular(a)),
        "polar": lambda a: jax.vmap(lambda a: jsl.polar(a, method="svd")[0])(regular(a)),
    },
}
"""With gradients."""

VALUES: dict[str, Operation] = {
    "all left vectors": lambda a: jnp.abs(jnp.linalg.svd(a[..., :3])[0][..., :3]),
    "all right vectors": lambda a: jnp.abs(jnp.linalg.svd(a[:, :3])[2][:, :3]),
    "orthogonal": lambda a: jnp.linalg.svd(a[:, :3])[2] @ jnp.linalg.svd(a[:, :3])[2].mT,
    "rank": lambda a: jnp.linalg.matrix_rank(jnp.concatenate([a[:, :2], a[:, :2] * 2], axis=1)),
    "pivots": lambda a: lax.linalg.lu(regular(a))[1],
    "permutation": lambda a: lax.linalg.lu(a)[2],
    "some eigenvalues": lambda a: jax.vmap(
        lambda a: jnp.abs(lax.linalg.eigh(a, symmetrize_input=False)[1][1:3])
    )(positive(a)),
    "not positive": lambda a: jnp.isnan(jnp.linalg.cholesky(a - 9 * jnp.eye(a.shape[-1]))),
    "eigenvalues of nan": lambda a: jnp.isnan(jnp.linalg.eigvalsh(jnp.where(a > 1.5, jnp.nan, a))),
    "bfloat16": lambda a: jnp.linalg.cholesky(positive(a).astype(jnp.bfloat16).astype(jnp.float32)),
    "1 x 1": lambda a: jnp.linalg.inv(a[:, :1, :1]) * jnp.linalg.svdvals(a[:, :1, :1])[..., None],
    "no columns": lambda a: jnp.linalg.svd(a[..., :0])[0],
    "no elements": lambda a: jnp.linalg.det(jnp.linalg.cholesky(a[:, :0, :0])),
}
"""Without: vectors up to their sign, counts, and what is no number."""
