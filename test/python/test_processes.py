"""One script in one process and in several: the same bits, and what each process has of them.

Training on every kind of layout in two processes; with EPL_NIGHTLY set also in four.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import mpi

COUNTS = (2, 4) if os.environ.get("EPL_NIGHTLY") else (2,)

# Trains on every kind of layout, and says what all processes must say alike, digests of whole values too.
TRAINING = """
    import hashlib
    import os

    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax

    import epl

    epl.init(devices="cpu:4")
    optimizer = optax.adam(1e-2)


    def say(text):
        with open(os.path.join(os.environ["SAID"], os.environ.get("OMPI_COMM_WORLD_RANK", "0")), "a") as file:
            file.write(text + chr(10))


    def forward(apart, params, x):
        with epl.replicate(name="first"):
            h = jnp.tanh(x @ params["w1"])
        with epl.split(device_count=2, name="second") if apart == "split" else epl.replicate(name="second"):
            return h @ params["w2"]


    def train(name, config, apart="replicate", devices=4):
        def step(params, state, x, y):
            def loss(params):
                h = forward(apart, params, x)
                return jnp.mean((h - y) ** 2), h

            (l, h), grads = jax.value_and_grad(loss, has_aux=True)(params)
            epl.check(l > 0, "loss is {}", l)
            updates, state = optimizer.update(grads, state, params)
            return optax.apply_updates(params, updates), state, l, h

        return epl.parallelize(
            step, state=("params", "state"), batch=("x", "y"), config=config, name=name, devices=devices
        )


    COLOCATED = {"cluster.colocate_split_and_replicate": True}
    STEPS = [
        train("data", COLOCATED),
        train("zero1", {"zero.level": "v1", **COLOCATED}),
        train("zero3", {"zero.level": "v3", **COLOCATED}),
        train("owners", {"zero.owner": "parameter", **COLOCATED}),
        train("owners beside a split", {"zero.owner": "parameter", **COLOCATED}, "split"),
        train("split", COLOCATED, "split"),
        train("stages", {"pipeline.num_micro_batch": 4}),
        train("owned stages", {"zero.owner": "parameter", "pipeline.num_micro_batch": 4}),
    ]
    random = np.random.default_rng(3)
    first = {
        "w1": jax.random.normal(jax.random.PRNGKey(0), (16, 32)),
        "w2": jax.random.normal(jax.random.PRNGKey(1), (32, 16)) / 4,
    }
    x = random.normal(size=(16, 16)).astype(np.float32)
    y = np.tanh(x)
    for step in STEPS:
        params, state = first, optimizer.init(first)
        for _ in range(3):
            params, state, loss, h = step(params, state, x, y)
        whole = epl.gather((params, state, h))
        digest = hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(whole)))
        say(f"{step} {float(loss)} {digest.hexdigest()}")
"""

# What holds in two processes of two devices each.
TWO = """
    import jax
    import jax.numpy as jnp
    import numpy as np

    import epl

    epl.init(devices="cpu:4", config={"cluster.colocate_split_and_replicate": True})
    own = jax.process_index()
    assert (jax.process_count(), jax.local_device_count(), jax.device_count()) == (2, 2, 4)


    def train(p, x, y):
        def loss(p):
            with epl.replicate():
                h = jnp.tanh(x["a"] @ p["w1"])
            with epl.split(device_count=2):
                return jnp.mean((h @ p["w2"] - y) ** 2), h

        (l, h), grads = jax.value_and_grad(loss, has_aux=True)(p)
        jax.debug.print("loss {}", l)
        return jax.tree.map(lambda a, b: a - 0.1 * b, p, grads), l, h


    def make():
        return epl.parallelize(train, state="p", batch=("x", "y"), debug=True)


    def fails(error, action, *parts):
        try:
            action()
        except error as problem:
            assert all(part in str(problem) for part in parts), problem
        else:
            raise AssertionError(parts)


    p = {
        "w1": jax.random.normal(jax.random.PRNGKey(0), (16, 32)),
        "w2": jax.random.normal(jax.random.PRNGKey(1), (32, 16)),
    }
    x = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    y = np.tanh(x)
    step = make()
    compiled = step.lower(p, {"a": x}, y).compile()
    compiled.check(p, {"a": x}, y)
    q, l, h = step(p, {"a": x}, y)
    compiled.check(q, {"a": x}, y)

    # A result that all hold is there; one that is split is in parts.
    assert float(l) > 0
    assert isinstance(h, epl.Array)
    assert not h.is_fully_addressable
    fails(epl.Error, lambda: np.asarray(h), "result[2]", "epl.gather")
    shown = "epl.Array(float32[8,32], in parts that other processes have)"
    assert repr(h) == str(h) == f"{h}" == shown
    for read in (list, lambda h: h.tolist(), lambda h: 1.0 in h):
        fails(epl.Error, lambda: read(h), "result[2]", "epl.gather")
    whole = epl.gather(h)
    rows = slice(4 * own, 4 * own + 4)
    assert [s.index for s in h.addressable_shards] == [
        (slice(4 * own + 2 * i, 4 * own + 2 * i + 2), slice(0, 32)) for i in range(2)
    ]
    assert [s.rank for s in h.addressable_shards] == [2 * own, 2 * own + 1]
    assert [s.device for s in h.addressable_shards] == jax.local_devices()
    assert np.array_equal(np.concatenate([s.data for s in h.addressable_shards]), np.asarray(whole)[rows])
    assert [s.replica_id == 0 for s in q["w2"].addressable_shards] == [own == 0] * 2
    assert np.asarray(q["w1"]).shape == (16, 32)
    assert float(jnp.sum(h).addressable_data(0)) == float(jnp.sum(h))

    # Parts of a batch.
    other = make()
    part = lambda: other(p, epl.from_local({"a": x[rows]}), epl.from_local(y[rows]))
    fails(epl.ArgumentError, part, "from_local", "lower()")
    lowered = other.lower(p, *jax.eval_shape(lambda *batch: batch, {"a": x}, y))
    assert lowered.local_batch("x") == lowered.local_batch("x['a']") == rows
    fails(epl.ArgumentError, lambda: lowered.local_batch("z"), "x['a']", "y")
    r, m, _ = part()
    assert m == l
    same = jax.tree.map(lambda a, b: bool((a == b).all()), *epl.gather((q, r)))
    assert all(jax.tree.leaves(same)), same
    padded = epl.parallelize(lambda x, mask: x * mask[:, None], batch="x", pad_batch=True, name="padded")
    fails(epl.ArgumentError, lambda: padded(epl.from_local(x[:3])), '"x" of padded is a part', '"mask"')
    wrong = lambda: other(p, epl.from_local({"a": x[:3]}), epl.from_local(y[rows]))
    fails(epl.ArgumentError, wrong, "x['a']", f"process {own}", "float32[3, 16]", "float32[4, 16]", "[8, 16]")


    def turned(z, a):  # not in the order of names
        with epl.replicate():
            return z + a.sum()


    turned = epl.parallelize(turned, state="z", batch="a")
    turned.lower(0.0, jax.ShapeDtypeStruct((8,), np.float32))
    assert float(turned(0.0, epl.from_local(np.arange(8.0, dtype=np.float32)[rows]))) == 28
    print("ENDED", flush=True)
"""


def run_and_read(
    processes: int, code: str, folder: Path
) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """What a script gives, and the lines that each process says: mpirun mixes what they print."""
    said = folder / f"said by {processes}"
    said.mkdir()
    done = mpi.run(processes, mpi.write(folder / "script.py", code), SAID=str(said))
    files = [said / str(process) for process in range(processes)]
    return done, [file.read_text().splitlines() if file.exists() else [] for file in files]


def test_several_processes_train_as_one(tmp_path: Path) -> None:
    alone, (expected,) = run_and_read(1, TRAINING, tmp_path)
    assert len(expected) == 8, alone.stderr
    for processes in COUNTS:
        done, found = run_and_read(processes, TRAINING, tmp_path)
        assert done.returncode == 0, done.stderr
        assert found == processes * [expected]


def test_a_process_has_its_part(tmp_path: Path) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "two.py", TWO))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ENDED") == 2
    assert done.stdout.count("loss ") == 4, "prints come from process 0 alone"
    assert done.stderr.count("data 2, model 2") == 2, "and so do the layouts"


# Mistakes of three processes, one after another: each is one error in all of them.
MISTAKES = """
    import os

    import jax.numpy as jnp
    import numpy as np

    import epl

    own = int(os.environ["OMPI_COMM_WORLD_RANK"])
    x = np.ones((6, 4), np.float32)


    def say(text):
        with open(os.path.join(os.environ["SAID"], os.environ.get("OMPI_COMM_WORLD_RANK", "0")), "a") as file:
            file.write(text + chr(10))


    def make(name, factor=1.0):
        def step(x):
            with epl.replicate():
                return jnp.mean(x * factor)

        return epl.parallelize(step, batch="x", name=name)


    def tries(what, action):
        try:
            action()
        except epl.Error as problem:
            say(f"{what}: {problem}".replace(chr(10), " "))
        else:
            raise AssertionError(what)


    tries("count", lambda: epl.init(devices="cpu:8"))
    tries("devices", lambda: epl.init(devices=f"cpu:{3 + 3 * own}"))
    tries("nodes", lambda: epl.init(devices="cpu:3x1"))
    epl.init(devices=3)
    tries("program", lambda: make("f", 2.0 + (own == 1))(x))
    tries("shape", lambda: make("f")(x[: 3 + 3 * (own == 2)]))
    tries("step", lambda: make("fgf"[own])(x))
    tries("exchange", lambda: make("f")(x) if own else epl.gather(x))
    f, g = make("f"), make("g", 2.0)
    assert float(f(x)) == 1
    assert float(g(x)) == 2
    f(x) if own else g(x)  # they wait for one another now
"""

PROBLEMS = {
    "count": ['"cpu:8" are 8 devices over 3 processes'],
    "devices": ["other devices", "cpu:3", "process 1", "cpu:6"],
    "nodes": ['"cpu:3x1" are 3 nodes', "hosts"],
    "program": ['step "f"', "another program", "process 1", "arith.constant 3.0"],
    "shape": ["process 2", "tensor<3x4xf32>", "tensor<6x4xf32>"],
    "step": ['step "f"', "process 1", 'step "g"', "one order"],
    "exchange": ["process 0 is in a gather", "process 1", "in a compilation"],
}


def test_what_differs_is_an_error_in_each_process(tmp_path: Path) -> None:
    done, found = run_and_read(3, MISTAKES, tmp_path)
    for problems in found:
        assert [problem.partition(":")[0] for problem in problems] == list(PROBLEMS), (problems, done.stderr)
        for problem, parts in zip(problems, PROBLEMS.values(), strict=True):
            assert all(part in problem for part in parts), problem
    assert done.returncode == 1
    other = r"does something else: .* a call of [fg]\(.*\) by plan \d+ there"
    order = f"ProcessError: call 2 of [fg] failed: process [0-2] .* {other}"
    assert re.search(order, done.stderr), done.stderr


def test_says_that_there_is_no_mpi(tmp_path: Path) -> None:
    script = mpi.write(tmp_path / "alone.py", 'import epl\nepl.init(devices="cpu:4")\n')
    done = mpi.run(1, script, RANK="1", WORLD_SIZE="4")
    assert done.returncode == 1
    assert "several processes, but no MPI: RANK=1 and WORLD_SIZE=4" in done.stderr
    assert "epl-launch -n 4 python train.py" in done.stderr


DIFFERENT = """
    import os

    import jax
    import jax.numpy as jnp
    import numpy as np

    import epl

    own = int(os.environ["OMPI_COMM_WORLD_RANK"])
    epl.init(devices=2)
    closed = np.arange(4000, dtype=np.float32) + own
    x = np.ones((4, 4), np.float32)


    @epl.parallelize(batch="x")
    def closing(w, x):
        with epl.replicate():
            return w - jnp.mean(x) * jnp.sum(closed)


    @epl.parallelize(state="w", batch="x")
    def branching(w, x, rate, flag, noise):
        with epl.replicate():
            return jax.lax.cond(flag, lambda: w - rate * jnp.mean(x, 0) + noise[-1], lambda: w)


    def fails(*values):
        try:
            return epl.gather(branching(*values))
        except epl.Error as error:
            return str(error)


    said = []
    try:
        closing(np.ones(4, np.float32), x)
    except epl.ProcessError as error:
        said.append(str(error))
    noise = np.zeros(40000, np.float32)
    w = branching(np.ones(4, np.float32), x, 0.5, True, noise)
    said.append(str(float(w[0])))
    late = noise.copy()
    late[-1] = own
    said.append(fails(%s))
    open(f"{os.environ['SAID']}/{own}", "w").write("\\n".join(said))
"""


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ("w, x, 0.5 + own, True, noise", '"rate" is {0.5 in process 0} and {1.5 in process 1}'),
        ("w, x, 0.5, own == 0, noise", '"flag" is {True in process 0} and {False in process 1}'),
        (
            "w, x, 0.5, True, late",
            '"noise", float32[40000], has other values {in process 0} than {in process 1}',
        ),
        (
            "np.asarray(w) if own else w, x, 0.5, True, noise",
            """"w" is {what call 1 has made in process 0} and {a host's array in process 1}""",
        ),
    ],
)
def test_processes_pass_the_same(tmp_path: Path, values: str, found: str) -> None:
    """Each process says it from its side, and all end with an error, though they catch it."""
    done, said = run_and_read(2, DIFFERENT % values, tmp_path)
    assert done.returncode == 1
    first, here, between, there, last = re.split("[{}]", found)
    ends = tuple(
        f"call 2 of branching failed: argument {first}{one}{between}{other}{last}, expected the same in all "
        "processes"
        for one, other in ((here, there), (there, here))
    )
    for closed, begun, error in said:
        assert re.search(r"step closing: array 0 that it closed over is float32\[4000\] with", closed)
        assert begun == "0.5"
        assert error.endswith(ends)  # by itself, or as the other one has told it


EARLY = """
    import os

    import jax
    import numpy as np

    own = os.environ["OMPI_COMM_WORLD_RANK"]
    if own == os.environ["EARLY"]:
        jax.random.key(0)

    import epl

    epl.init(devices=4, config={"zero.level": "v3"})


    @epl.parallelize(state="w", batch="x")
    def step(w, x):
        with epl.replicate():
            return w - x.mean()


    w = step(np.zeros((4, 4), np.float32), np.ones((4, 4), np.float32))
    try:
        epl.Checkpoints(os.environ["SAID"] + "/checkpoints")
        problem = "none"
    except epl.Error as error:
        problem = str(error)
    sum = float(epl.gather(w).sum())
    devices = {shard.device for shard in w.addressable_shards}
    with open(f"{os.environ['SAID']}/{own}", "w") as file:
        file.write(f"{sum}\\n{devices <= set(jax.local_devices())}\\n{problem}")
"""


@pytest.mark.parametrize("early", [0, 1])
def test_one_process_uses_jax_before_it_joins(tmp_path: Path, early: int) -> None:
    code = EARLY.replace('os.environ["EARLY"]', f'"{early}"')
    done, said = run_and_read(2, code, tmp_path)
    assert done.returncode == 0, done.stderr
    for total, has_own_devices, problem in said:
        assert (total, has_own_devices) == ("-16.0", "True")
        assert problem.startswith("JAX does not have the run's processes and their devices")


STAGES = """
    import os

    import jax
    import jax.numpy as jnp
    import numpy as np

    import epl

    epl.init(devices=2, config={"cluster.colocate_split_and_replicate": True})


    def loss(p, x, scopes):
        with scopes[0]:
            h = jnp.tanh(x @ p["a"])
        with scopes[1]:
            return jnp.mean((h @ p["b"]) ** 2)


    @epl.parallelize(state="p", batch="x", config={"cluster.colocate_split_and_replicate": False})
    def stages(p, x):
        grads = jax.grad(loss)(p, x, [epl.replicate(1, name="a"), epl.replicate(1, name="b")])
        return jax.tree.map(lambda p, g: p - 0.1 * g, p, grads)


    @epl.parallelize(batch="x")
    def evaluate(p, x):
        return loss(p, x, [epl.replicate(), epl.split()])


    @epl.parallelize(state="p", batch="x", config={"zero.level": "v3"})
    def other(p, x):
        grads = jax.grad(loss)(p, x, [epl.replicate(), epl.replicate()])
        return jax.tree.map(lambda p, g: p - 0.1 * g, p, grads)


    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    p = {"a": np.ones((4, 6), np.float32) / 3, "b": np.ones((6, 4), np.float32) / 7}
    said = []
    for step in (stages, other, stages):
        p = step(p, x)
        said.append(float(evaluate(p, x)).hex())
        said += [float(value.sum()).hex() for value in epl.gather(p).values()]
    with open(os.path.join(os.environ["SAID"], os.environ.get("OMPI_COMM_WORLD_RANK", "0")), "w") as file:
        file.write("\\n".join(said))
"""


def test_states_go_from_layout_to_layout(tmp_path: Path) -> None:
    alone, (expected,) = run_and_read(1, STAGES, tmp_path)
    assert len(expected) == 9, alone.stderr
    done, found = run_and_read(2, STAGES, tmp_path)
    assert done.returncode == 0, done.stderr
    assert found == 2 * [expected]
