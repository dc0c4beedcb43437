"""Train an MLP on handwritten digits, data parallel on CPU devices, and compare with jax.jit.

The model and the step are written for one device; what makes them parallel is the line
`with epl.replicate():` and the decorator. Run it by `scripts/demo`, or in the repository's environment:

    python examples/digits.py [--devices cpu:2] [--epochs 10] [--trace digits.json]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

import epl

BATCH = 128
optimizer = optax.adam(1e-3)


def init_params(seed: int = 0) -> Any:
    """The parameters of a 64-512-512-10 network."""
    keys = jax.random.split(jax.random.key(seed), 3)
    sizes = [64, 512, 512, 10]
    return [
        {"w": jax.random.normal(key, (n, m)) * np.sqrt(2 / n), "b": jnp.zeros(m)}
        for key, n, m in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def model(params: Any, x: jax.Array) -> jax.Array:
    """Logits [batch, 10] of images [batch, 64]."""
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train_step(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
    """One step of Adam on the mean cross entropy of the batch."""

    def loss_fn(params: Any) -> jax.Array:
        with epl.replicate():
            labels = jax.nn.one_hot(y, 10)
            return optax.softmax_cross_entropy(model(params, x), labels).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def eval_step(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    """The share of the batch that is classified right."""
    with epl.replicate():
        return jnp.mean(jnp.argmax(model(params, x), axis=1) == y)


def load_data() -> Any:
    """1,437 training and 360 test images as (x, y) pairs, pixels in [0, 1]."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    x, y = (digits.data[order] / 16).astype(np.float32), digits.target[order].astype(np.int32)
    return (x[:1437], y[:1437]), (x[1437:], y[1437:])


def batches(data: Any, epochs: int) -> Iterator[Any]:
    """Shuffled batches of every epoch; the last partial batch is dropped."""
    x, y = data
    rng = np.random.default_rng(1)
    for _ in range(epochs):
        order = rng.permutation(len(y))
        for begin in range(0, len(y) - BATCH + 1, BATCH):
            rows = order[begin : begin + BATCH]
            yield x[rows], y[rows]


def steps_per_second(step: Any, state: Any, data: Any, steps: int = 100) -> float:
    """The rate of `step`, after a warm-up; the best of three goes of so many steps.

    Their number is fixed, since several processes must make the same, whose clocks differ.
    """
    x, y = next(batches(data, 1))
    best = 0.0
    for _ in range(3):
        for _ in range(10):
            *state, loss = step(*state, x, y)
        jax.block_until_ready(loss)
        begin = time.perf_counter()
        for _ in range(steps):
            *state, loss = step(*state, x, y)
        jax.block_until_ready(loss)
        best = max(best, steps / (time.perf_counter() - begin))
    return best


def initial_state() -> list[Any]:
    """Parameters and optimizer state."""
    params = init_params()
    return [params, optimizer.init(params)]


def measure_jax_on_one_core() -> float:
    """Steps per second of jax.jit in a process that has one core: XLA starts a thread for each core."""
    command = [sys.executable, __file__, "--jax-rate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"measuring jax.jit failed:\n{done.stderr}")
    return float(json.loads(done.stdout.splitlines()[-1])["steps_per_second"])


def show_progress(done: int, total: int, begin: float, loss: float, accuracy: float) -> None:
    """How far, how good, how fast, how long still: on a terminal one line that is written over."""
    rate = done / (time.perf_counter() - begin)
    left = (total - done) / rate
    line = (
        f"  step {done:4d}/{total}  loss {loss:.4f}  test accuracy {100 * accuracy:5.1f} %"
        f"  {rate:6.1f} steps/s  {left:4.0f} s left"
    )
    rewrite = sys.stdout.isatty() and done < total
    print(line, end="\r" if rewrite else "\n", flush=True)


def train(devices: str, epochs: int, trace: str) -> None:
    """Train, then compare with jax.jit over the same steps, and report."""
    train_data, test_data = load_data()
    step = epl.parallelize(train_step, state=("params", "opt_state"), batch=("x", "y"), devices=devices)
    evaluate = epl.parallelize(eval_step, batch=("x", "y"), devices=devices)

    state = initial_state()
    x, y = next(batches(train_data, 1))
    print(f"Compiling for {devices} ...", flush=True)
    begin = time.perf_counter()
    compiled = step.lower(*state, x, y).compile()
    print(f"  {time.perf_counter() - begin:.2f} s")

    print("Training ...", flush=True)
    losses = []
    total = epochs * (len(train_data[1]) // BATCH)
    begin = time.perf_counter()
    accuracy = 0.0
    for count, (x, y) in enumerate(batches(train_data, epochs), 1):
        *state, loss = step(*state, x, y)
        losses.append(loss)
        if count % 11 == 0 or count == total:
            accuracy = float(evaluate(state[0], *test_data))
            show_progress(count, total, begin, float(loss), accuracy)

    print("Comparing with jax.jit over the same steps ...", flush=True)
    expected, reference = initial_state(), jax.jit(train_step)
    worst = 0.0
    for ours, (x, y) in zip(losses, batches(train_data, epochs), strict=True):
        *expected, loss = reference(*expected, x, y)
        worst = max(worst, abs(float(ours) - float(loss)) / abs(float(loss)))

    print("Measuring ...", flush=True)
    single = epl.parallelize(train_step, state=("params", "opt_state"), batch=("x", "y"), devices="cpu:1")
    rates = {
        "cpu:1": steps_per_second(single, initial_state(), train_data),
        devices: steps_per_second(step, initial_state(), train_data),
        "jax.jit, one core": measure_jax_on_one_core(),
    }
    with compiled.trace(trace):
        state = initial_state()
        for x, y in batches(train_data, 1):
            *state, loss = compiled(*state, x, y)

    plan = compiled.plan
    print(f"\n  test accuracy       {100 * accuracy:.1f} %")
    print(f"  losses              within {worst:.1e} of jax.jit, relative, over {total} steps")
    for name, rate in rates.items():
        print(f"  {name:<19} {rate:.0f} steps/s")
    gains = (f"{rates[devices] / rate:.2f} times {name}" for name, rate in rates.items() if name != devices)
    print(f"  speed of {devices:<10} {', '.join(gains)}")
    print(f"  layout              {plan.layout}")
    print(f"  kernels             {plan.num_kernels}")
    print(f"  collectives         {plan.num_collectives}")
    print(f"  arena               {plan.arena_bytes:,} bytes on each device")
    print(f"  timeline            {Path(trace).resolve()} (open it at ui.perfetto.dev)")
    if accuracy < 0.95 or worst > 1e-5:
        sys.exit("error: expected 95 % test accuracy and losses within 1e-5 of jax.jit")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="cpu:2", help="the devices to train on (default cpu:2)")
    parser.add_argument("--epochs", type=int, default=10, help="times over the images (default 10)")
    parser.add_argument("--trace", default="digits.json", help="the timeline's file (default digits.json)")
    parser.add_argument("--jax-rate", action="store_true", help="only measure jax.jit on one core")
    args = parser.parse_args()
    if args.jax_rate:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        rate = steps_per_second(jax.jit(train_step), initial_state(), load_data()[0])
        print(json.dumps({"steps_per_second": rate}))
    else:
        train(args.devices, args.epochs, args.trace)


if __name__ == "__main__":
    main()
