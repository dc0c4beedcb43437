"""PyTorch on the GPT of gpt_data: eager on a core, or distributed data parallel over gloo, a core a process.

Steered as worker.py is: prints a line when ready, then runs as many steps as each line says. Needs torch and
numpy and nothing of this project, so it may run in an environment of its own.

    python torch_peer.py DEVICES
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import gpt_data
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn

Step = Callable[[], float]


def dense(weights: dict) -> nn.Linear:
    """A linear layer with such weights."""
    layer = nn.Linear(*weights["w"].shape)
    layer.weight.data = torch.from_numpy(weights["w"]).T.contiguous()
    layer.bias.data = torch.from_numpy(weights["b"])
    return layer


def norm(weights: dict) -> nn.LayerNorm:
    """A layer norm with such weights."""
    layer = nn.LayerNorm(gpt_data.WIDTH, eps=gpt_data.EPSILON)
    layer.weight.data = torch.from_numpy(weights["scale"])
    layer.bias.data = torch.from_numpy(weights["bias"])
    return layer


class Block(nn.Module):
    """Attention over what came before, and a perceptron, each round a residual."""

    def __init__(self, weights: dict) -> None:
        super().__init__()
        self.norm1, self.norm2 = norm(weights["norm1"]), norm(weights["norm2"])
        self.qkv, self.out, self.up, self.down = (
            dense(weights[name]) for name in ("qkv", "out", "up", "down")
        )

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = (
            part.view(b, t, gpt_data.HEADS, -1).transpose(1, 2) for part in self.qkv(x).split(d, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(b, t, d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """The loss of a batch."""

    def __init__(self) -> None:
        super().__init__()
        weights = gpt_data.weights()
        self.tokens = nn.Embedding.from_pretrained(torch.from_numpy(weights["tokens"]), freeze=False)
        self.positions = nn.Parameter(torch.from_numpy(weights["positions"]))
        self.blocks = nn.Sequential(*map(Block, weights["blocks"]))
        self.norm, self.head = norm(weights["norm"]), dense(weights["head"])

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        logits = self.head(self.norm(self.blocks(self.tokens(x) + self.positions)))
        return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def build(rank: int, devices: int) -> Step:
    """One step of one process on its part of the batch."""
    model: nn.Module = GPT()
    if devices > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(
        model.parameters(), gpt_data.LEARNING_RATE, weight_decay=gpt_data.WEIGHT_DECAY
    )
    x, y = (torch.from_numpy(part).long().chunk(devices)[rank] for part in gpt_data.batch())

    def step() -> float:
        optimizer.zero_grad()
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def first_losses(step: Step, devices: int) -> list[float]:
    """The losses of three steps over the whole batch."""
    losses = torch.tensor([step() for _ in range(3)])
    if devices > 1:
        dist.all_reduce(losses)
    return (losses / devices).tolist()


def requests(rank: int, devices: int) -> Iterator[int]:
    """How many steps to run, again and again: read by the first process, which tells the others."""
    while True:
        line = sys.stdin.readline() if rank == 0 else ""
        steps = torch.tensor(int(line or 0))
        if devices > 1:
            dist.broadcast(steps, 0)
        if not steps:
            return
        yield int(steps)


def serve(rank: int, devices: int, store: str) -> None:
    """A process of the peer, to its end."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    torch.set_num_threads(1)
    if devices > 1:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=devices)
    begin = time.perf_counter()
    step = build(rank, devices)
    ready = {"compile": time.perf_counter() - begin, "losses": first_losses(step, devices)}
    if rank == 0:
        print(json.dumps(ready), flush=True)
    for steps in requests(rank, devices):
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        if rank == 0:
            print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)


def main() -> None:
    """The first process is this one, which has the standard input."""
    devices = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store"
        others = [
            mp.get_context("spawn").Process(target=serve, args=(rank, devices, store), daemon=True)
            for rank in range(1, devices)
        ]
        for process in others:
            process.start()
        serve(0, devices, store)
        for process in others:
            process.join()


if __name__ == "__main__":
    main()
