"""What looks at results that are in parts over processes: the check of padding, the search for NaNs.

Each process reads what it has, and what it finds holds for all: an error is raised by all or by none.
"""

from __future__ import annotations

from pathlib import Path

import mpi

# Two devices with half of each state. It says what must be the same in one process and in two.
SCRIPT = """
    import os

    import jax
    import jax.numpy as jnp
    import numpy as np

    import epl

    own = os.environ.get("OMPI_COMM_WORLD_RANK", "0")
    epl.init(devices=2, config={"zero.level": "v3"})
    x = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    second = jnp.arange(16) >= 8  # the elements of device 1


    def say(text):
        with open(os.path.join(os.environ["SAID"], own), "a") as file:
            file.write(text + chr(10))


    def padded(name, seen):
        def step(w, x, mask):
            with epl.replicate():
                return w * 0.5 + jnp.where(second, seen(x, mask), (x * mask[:, None]).sum(0)), x * w

        return epl.parallelize(step, state="w", batch="x", pad_batch=True, name=name)


    def tries(what, action):
        try:
            return action()
        except (epl.Error, FloatingPointError) as error:
            said = [str(error), *getattr(error, "__notes__", [])]
            say(f"{what}: {' '.join(said)}".replace(chr(10), " "))
            return None


    w = jnp.zeros(16)
    right = padded("right", lambda x, mask: jnp.max(jnp.where(mask[:, None], x, 0), 0))
    for rows in (8, 5, 8, 7):
        w, scaled = right(w, x[:rows])
        say(f"{rows}: {np.asarray(epl.gather(w)).tolist()} {np.asarray(epl.gather(scaled)).tolist()}")

    def staged(keys, w, x, mask):
        with epl.replicate():
            h = x * w[0] * jax.random.normal(keys[0], (1, 16))
        with epl.replicate():
            h = h * w[1] * jax.random.normal(keys[1], (1, 16))
        return [jax.random.split(key)[0] for key in keys], w, (h.sum(1) * mask).sum()


    config = {"pipeline.num_micro_batch": 2}
    staged = epl.parallelize(staged, state=("keys", "w"), batch="x", pad_batch=True, config=config)
    keys, v = list(jax.random.split(jax.random.key(0))), jnp.ones((2, 16))
    for rows in (8, 5):
        keys, v, total = staged(keys, v, x[:rows])
    say(f"keys: {[jax.random.key_data(key).tolist() for key in epl.gather(keys)]} {float(total)}")
    say(f"drawn: {[float(jax.random.normal(key)) for key in epl.gather(keys)]}")
    wrong = padded("wrong", lambda x, mask: x.sum(0))
    tries("padding", lambda: wrong(jnp.zeros(16), x[:5]))


    def grows(name, factor):
        def step(w, x):
            with epl.replicate():
                return w + jnp.where(second, factor(x), 1.0), jnp.ones(())

        return epl.parallelize(step, state="w", batch="x", name=name)


    factors = iter([1e38, 1.0])  # of the trace, and when JAX runs the step again
    jax.config.update("jax_debug_nans", True)
    logs = grows("logs", lambda x: jnp.log(x.mean(0)))
    w = logs(jnp.zeros(16), np.abs(x))[0]
    tries("nan", lambda: logs(w, -np.abs(x)))
    say(f"kept: {bool(np.isfinite(epl.gather(w)).all())}")
    jax.config.update("jax_debug_infs", True)
    tries("inf", lambda: grows("quick", lambda x: x.mean(0) * next(factors))(w, np.full_like(x, 10)))
    rows = slice(4 * int(own), 4 * int(own) + 4) if "OMPI_COMM_WORLD_RANK" in os.environ else slice(0, 8)
    tries("part", lambda: logs(w, epl.from_local(-np.abs(x)[rows])))
"""


def said_in(processes: int, folder: Path) -> list[list[str]]:
    """What each process says."""
    said = folder / f"said by {processes}"
    said.mkdir()
    done = mpi.run(processes, mpi.write(folder / "script.py", SCRIPT), SAID=str(said))
    assert done.returncode == 0, done.stderr
    return [(said / str(process)).read_text().splitlines() for process in range(processes)]


def test_all_processes_find_what_one_has(tmp_path: Path) -> None:
    (alone,) = said_in(1, tmp_path)
    found = said_in(2, tmp_path)
    assert found[0] == found[1]
    *values, padding, nan, kept, inf, part = found[0]
    begins = ["8", "5", "8", "7", "keys", "drawn"]
    assert [line.partition(":")[0] for line in values] == begins
    assert [*values, padding] == alone[:7]
    assert '"w" of wrong depends on what a batch is padded with' in padding
    assert kept == "kept: True"
    for line, held in [(nan, 'logs: result "w" holds nan'), (inf, 'quick: result "w" holds inf')]:
        assert f"{held} in process 1 (pid " in line
        assert "process 0" not in line
    assert "invalid value (nan) encountered in log" in nan
    assert part.startswith('part: logs: result "w" holds nan in process 1 (pid ')
    assert [line.partition(" in process")[0] for line in (nan, inf)] == [alone[7], alone[9]]
