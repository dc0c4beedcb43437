"""Train a character-level GPT in PyTorch on the licenses of this system, data parallel on CPU devices.

A module of torch, torch's AdamW and its schedule, for one device; what makes the step parallel is the line
`with epl.replicate():` and the call of `epl.torch.parallelize`. Run it where epl[torch] is installed:

    python examples/torch_gpt.py [--devices cpu:2] [--steps 300] [--trace gpt.json]
"""

import argparse
import copy
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import epl

LICENSES = Path("/usr/share/common-licenses")
LAYERS, WIDTH, HEADS, LENGTH, BATCH = 4, 128, 4, 64, 32
COMPARED = 10  # steps that torch makes too


class Block(nn.Module):
    """Attention over what came before, then a perceptron, each added to what comes in."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.perceptron = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.perceptron(self.norm2(x))


class GPT(nn.Module):
    """Logits [batch, length, vocabulary] of the character after each of `tokens` [batch, length]."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def loss_fn(model: GPT, tokens: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy of the characters of `tokens` [batch, length + 1] that follow others."""
    with epl.replicate():
        return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


class Text:
    """The licenses as tokens: numbers of characters."""

    def __init__(self) -> None:
        files = sorted(path for path in LICENSES.glob("*") if path.is_file() and not path.is_symlink())
        text = "\n".join(path.read_text(errors="replace") for path in files)
        if len(text) < 10 * LENGTH:
            sys.exit(f"error: expected license texts in {LICENSES}, found {len(text)} characters")
        self.characters = sorted(set(text))
        self.tokens = self.encode(text)

    def encode(self, text: str) -> torch.Tensor:
        """The tokens of a text that has no other characters than the licenses."""
        numbers = {character: number for number, character in enumerate(self.characters)}
        return torch.tensor([numbers[character] for character in text])

    def batches(self, count: int) -> Iterator[torch.Tensor]:
        """Windows [batch, length + 1] at random places."""
        random = torch.Generator().manual_seed(1)
        for _ in range(count):
            starts = torch.randint(len(self.tokens) - LENGTH, (BATCH, 1), generator=random)
            yield self.tokens[starts + torch.arange(LENGTH + 1)]


def prepare(model: GPT, steps: int) -> tuple[torch.optim.Optimizer, Any]:
    """AdamW and its schedule: up for 20 steps, then down to nothing."""
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, eps=1e-6)
    rate = lambda step: min((step + 1) / 20, 1 - step / steps)  # noqa: E731
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


@torch.no_grad()
def sample(model: GPT, text: Text, prompt: str, count: int) -> str:
    """The prompt and `count` characters more, drawn one by one by torch."""
    tokens = text.encode(prompt)
    for _ in range(count):
        logits = model(tokens[None, -LENGTH:])[0, -1]
        tokens = torch.cat([tokens, torch.multinomial(F.softmax(logits / 0.8, 0), 1)])
    return "".join(text.characters[token] for token in tokens)


def compare(model: GPT, text: Text, steps: int, losses: list[float]) -> float:
    """The largest difference to losses that torch computes itself, relative."""
    optimizer, schedule = prepare(model, steps)
    worst = 0.0
    for ours, tokens in zip(losses, text.batches(COMPARED), strict=False):
        optimizer.zero_grad()
        loss = loss_fn(model, tokens)
        loss.backward()
        optimizer.step()
        schedule.step()
        worst = max(worst, abs(ours - loss.item()) / loss.item())
    return worst


def train(devices: str, steps: int, trace: str) -> None:
    """Train, compare the first steps with torch, write."""
    torch.manual_seed(0)
    text = Text()
    model = GPT(len(text.characters))
    reference = copy.deepcopy(model)
    optimizer, schedule = prepare(model, steps)
    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"{size:,} parameters, {len(text.tokens):,} characters, {len(text.characters)} different ones")

    step = epl.torch.parallelize(model, loss_fn, optimizer, devices=devices)
    print(f"Compiling for {devices} ...", flush=True)
    begin = time.perf_counter()
    compiled = step.lower(next(text.batches(1))).compile()
    print(f"  {time.perf_counter() - begin:.2f} s")

    print("Training ...", flush=True)
    losses: list[float] = []
    begin = time.perf_counter()
    for count, tokens in enumerate(text.batches(steps), 1):
        losses.append(step(tokens).item())
        schedule.step()
        if count % 50 == 0 or count == steps:
            rate = count / (time.perf_counter() - begin)
            print(f"  step {count:4d}/{steps}  loss {losses[-1]:.4f}  {rate:6.1f} steps/s", flush=True)

    print(f"Comparing the first {COMPARED} steps with torch ...", flush=True)
    worst = compare(reference, text, steps, losses)
    step.write_back()
    print("What it writes:\n")
    print(sample(model, text, "The license ", 400))
    with compiled.trace(trace):
        step(next(text.batches(1)))

    plan = compiled.plan
    print(f"\n  loss                {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
    print(f"  losses              within {worst:.1e} of torch, relative, over {COMPARED} steps")
    print(f"  layout              {plan.layout}")
    print(f"  kernels             {plan.num_kernels}")
    print(f"  collectives         {plan.num_collectives}")
    print(f"  timeline            {Path(trace).resolve()} (open it at ui.perfetto.dev)")
    if worst > 1e-5 or not losses[-1] < losses[0]:
        sys.exit("error: expected a falling loss, within 1e-5 of torch at first")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="cpu:2", help="the devices to train on (default cpu:2)")
    parser.add_argument("--steps", type=int, default=300, help="training steps (default 300)")
    parser.add_argument("--trace", default="gpt.json", help="the timeline's file (default gpt.json)")
    args = parser.parse_args()
    if args.steps < COMPARED:
        parser.error(f"argument --steps: expected at least {COMPARED}, found {args.steps}")
    train(args.devices, args.steps, args.trace)


if __name__ == "__main__":
    main()
