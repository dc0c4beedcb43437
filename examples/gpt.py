"""Train a character-level GPT on the licenses of this system, data parallel on CPU devices, and let it write.

A flax model, an optax optimizer, dropout, for one device; what makes the step parallel are the line
`with epl.auto_stages(...)` and the decorator. Run it by `scripts/demo gpt`, or in the repository's
environment:

    python examples/gpt.py [--devices cpu:2] [--steps 300] [--layers 4] [--width 128] [--trace gpt.json]

With stages it is a pipeline: the compiler cuts it so that the largest stage is least, each stage has devices
of its own, and the batch goes through them in micro-batches:

    python examples/gpt.py --stages 2 --micro-batches 8 --schedule zb-h1
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl

LICENSES = Path("/usr/share/common-licenses")
HEADS, LENGTH, BATCH = 4, 64, 32
DROPOUT = 0.1
COMPARED = 10  # steps that jax.jit makes too


class Block(nn.Module):
    """Attention over what came before, then a perceptron, each added to what comes in."""

    width: int

    @nn.compact
    def __call__(self, x: jax.Array, train: bool) -> jax.Array:
        attention = nn.MultiHeadDotProductAttention(HEADS, dropout_rate=DROPOUT, deterministic=not train)
        x = x + attention(nn.LayerNorm()(x), mask=nn.make_causal_mask(x[..., 0]))
        h = nn.Dense(self.width)(nn.gelu(nn.Dense(4 * self.width)(nn.LayerNorm()(x))))
        return x + nn.Dropout(DROPOUT, deterministic=not train)(h)


class GPT(nn.Module):
    """Logits [batch, length, vocabulary] of the character after each of `tokens` [batch, length]."""

    vocabulary: int
    layers: int
    width: int

    @nn.compact
    def __call__(self, tokens: jax.Array, train: bool = False) -> jax.Array:
        positions = nn.Embed(LENGTH, self.width)(jnp.arange(tokens.shape[1]))
        x = nn.Embed(self.vocabulary, self.width)(tokens) + positions
        for _ in range(self.layers):
            x = Block(self.width)(x, train)
        return nn.Dense(self.vocabulary)(nn.LayerNorm()(x))


class Text:
    """The licenses as tokens: numbers of characters."""

    def __init__(self) -> None:
        files = sorted(path for path in LICENSES.glob("*") if path.is_file() and not path.is_symlink())
        text = "\n".join(path.read_text(errors="replace") for path in files)
        if len(text) < 10 * LENGTH:
            sys.exit(f"error: expected license texts in {LICENSES}, found {len(text)} characters")
        self.characters = sorted(set(text))
        self.tokens = self.encode(text)

    def encode(self, text: str) -> np.ndarray:
        """The tokens of a text that has no other characters than the licenses."""
        numbers = {character: number for number, character in enumerate(self.characters)}
        return np.array([numbers[character] for character in text], np.int32)

    def batches(self, count: int) -> Iterator[np.ndarray]:
        """Windows [batch, length + 1] at random places."""
        random = np.random.default_rng(1)
        for _ in range(count):
            starts = random.integers(0, len(self.tokens) - LENGTH, BATCH)
            yield np.stack([self.tokens[start : start + LENGTH + 1] for start in starts])


def make_step(model: GPT, optimizer: optax.GradientTransformation, stages: int) -> Any:
    """A training step on (parameters, optimizer state, random key) and a batch."""

    def train_step(params: Any, opt_state: Any, key: jax.Array, tokens: jax.Array) -> Any:
        key, dropout = jax.random.split(key)

        def loss_fn(params: Any) -> jax.Array:
            with epl.auto_stages(stages):
                logits = model.apply(params, tokens[:, :-1], train=True, rngs={"dropout": dropout})
                return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, key, loss

    return train_step


def sample(model: GPT, params: Any, text: Text, prompt: str, count: int) -> str:
    """The prompt and `count` characters more, drawn one by one."""

    @jax.jit
    def draw(params: Any, window: jax.Array, last: int, key: jax.Array) -> jax.Array:
        return jax.random.categorical(key, model.apply(params, window[None])[0, last] / 0.8)

    tokens = list(text.encode(prompt))
    for key in jax.random.split(jax.random.key(2), count):
        seen = tokens[-LENGTH:]
        window = np.zeros(LENGTH, np.int32)  # what comes after the last token is not attended to
        window[: len(seen)] = seen
        tokens.append(int(draw(params, window, len(seen) - 1, key)))
    return "".join(text.characters[token] for token in tokens)


def show_progress(done: int, total: int, begin: float, loss: float) -> None:
    """How far, how good, how fast, how long still: on a terminal one line that is written over."""
    rate = done / (time.perf_counter() - begin)
    line = (
        f"  step {done:4d}/{total}  loss {loss:.4f}  {rate:6.1f} steps/s  {(total - done) / rate:4.0f} s left"
    )
    rewrite = sys.stdout.isatty() and done < total
    print(line, end="\r" if rewrite else "\n", flush=True)


def train(args: argparse.Namespace, config: dict[str, Any]) -> None:
    """Train, compare the first steps with jax.jit, write."""
    text, devices, steps = Text(), args.devices, args.steps
    model = GPT(len(text.characters), args.layers, args.width)
    schedule = optax.warmup_cosine_decay_schedule(0, 3e-3, min(20, steps - 1), steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, eps=1e-6))
    params = jax.jit(model.init)(jax.random.key(0), jnp.zeros((1, LENGTH), jnp.int32))
    first = [params, optimizer.init(params), jax.random.key(1)]
    train_step = make_step(model, optimizer, args.stages)
    size = sum(leaf.size for leaf in jax.tree.leaves(params))
    print(f"{size:,} parameters, {len(text.tokens):,} characters, {len(text.characters)} different ones")

    states = ("params", "opt_state", "key")
    step = epl.parallelize(train_step, state=states, batch="tokens", devices=devices, config=config)
    print(f"Compiling for {devices} ...", flush=True)
    begin = time.perf_counter()
    compiled = step.lower(*first, next(text.batches(1))).compile()
    print(f"  {time.perf_counter() - begin:.2f} s")

    print("Training ...", flush=True)
    state, losses, begin = first, [], time.perf_counter()
    for count, tokens in enumerate(text.batches(steps), 1):
        *state, loss = compiled(*state, tokens)
        losses.append(loss)
        if count % 10 == 0 or count == steps:
            show_progress(count, steps, begin, float(loss))
    rate = steps / (time.perf_counter() - begin)

    print(f"Comparing the first {COMPARED} steps with jax.jit ...", flush=True)
    expected, reference, worst = first, jax.jit(train_step), 0.0
    for ours, tokens in zip(losses, text.batches(COMPARED), strict=False):
        *expected, loss = reference(*expected, tokens)
        worst = max(worst, abs(float(ours) - float(loss)) / abs(float(loss)))

    print("What it writes:\n")
    params = epl.gather(state[0])  # of several processes each has its stages
    print(sample(model, params, text, "The license ", 400))
    with compiled.trace(args.trace):
        *state, loss = compiled(*state, next(text.batches(1)))

    plan = compiled.plan
    print(f"\n  loss                {float(losses[0]):.3f} at first, {float(losses[-1]):.3f} at last")
    print(f"  losses              within {worst:.1e} of jax.jit, relative, over {COMPARED} steps")
    print(f"  speed               {rate:.1f} steps/s, {rate * BATCH * LENGTH:,.0f} characters/s")
    print(f"  layout              {plan.layout}")
    print(f"  kernels             {plan.num_kernels}")
    print(f"  collectives         {plan.num_collectives}")
    print(f"  arena               {plan.arena_bytes:,} bytes on each device")
    print(f"  timeline            {Path(args.trace).resolve()} (open it at ui.perfetto.dev)")
    if worst > 1e-5 or not float(losses[-1]) < float(losses[0]):
        sys.exit("error: expected a falling loss, within 1e-5 of jax.jit at first")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="cpu:2", help="the devices to train on (default cpu:2)")
    parser.add_argument("--steps", type=int, default=300, help="training steps (default 300)")
    parser.add_argument("--trace", default="gpt.json", help="the timeline's file (default gpt.json)")
    parser.add_argument("--layers", type=int, default=4, help="blocks of the model (default 4)")
    parser.add_argument("--width", type=int, default=128, help=f"a multiple of {HEADS} heads (default 128)")
    parser.add_argument("--stages", type=int, default=1, help="stages of a pipeline (default 1: none)")
    parser.add_argument("--micro-batches", type=int, default=1, help="parts of the batch (default 1)")
    parser.add_argument("--schedule", default="1f1b", help="the order of micro-batches (default 1f1b)")
    args = parser.parse_args()
    for name, least in (("steps", COMPARED), ("layers", 1), ("stages", 1)):
        if (found := getattr(args, name)) < least:
            parser.error(f"argument --{name}: expected at least {least}, found {found}")
    if args.width < 1 or args.width % HEADS:
        parser.error(f"argument --width: expected a multiple of {HEADS} heads, found {args.width}")
    config = {"pipeline.num_micro_batch": args.micro_batches, "pipeline.strategy": args.schedule}
    train(args, config)


if __name__ == "__main__":
    main()
