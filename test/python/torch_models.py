"""Models of PyTorch for the tests: layers of torch.nn, and tiny configurations of transformers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import torch.nn.functional as F
from torch import nn

import epl

BATCH, LENGTH, VOCABULARY = 8, 16, 64


@dataclass(frozen=True)
class Case:
    """A module, a loss function of it and its batch, and the batch."""

    module: nn.Module
    loss: Callable[..., Any]
    batch: tuple[torch.Tensor, ...]


class Encoder(nn.Module):
    """nn.TransformerEncoder as a causal language model with tied embeddings."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, 32), nn.Embedding(LENGTH, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout, F.gelu, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        h = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.layers(h, mask=self.mask, is_causal=True)))


class Recurrent(nn.Module):
    """An LSTM over tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.lstm = nn.Embedding(VOCABULARY, 16), nn.LSTM(16, 32, batch_first=True)
        self.head = nn.Linear(32, VOCABULARY)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.tokens(ids))[0])


class Convolutional(nn.Module):
    """Convolutions, BatchNorm, pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.second, self.norm2 = nn.Conv2d(8, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.relu(self.norm2(self.second(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def tokens() -> torch.Tensor:
    """A batch of tokens."""
    return torch.randint(1, VOCABULARY, (BATCH, LENGTH))


def images() -> torch.Tensor:
    """A batch of images."""
    return torch.randn(BATCH, 3, 32, 32)


def labels() -> torch.Tensor:
    """A class for each sample."""
    return torch.randint(0, 10, (BATCH,))


def _language(scope: Callable[[], Any]) -> Callable[..., Any]:
    def loss(module: nn.Module, ids: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
        with scope():
            return F.cross_entropy(module(ids).flatten(0, 1), following.flatten())

    return loss


def _classes(scope: Callable[[], Any]) -> Callable[..., Any]:
    def loss(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        with scope():
            return F.cross_entropy(module(x), y)

    return loss


def _transformers(scope: Callable[[], Any], *names: str) -> Callable[..., Any]:
    """The loss that a model of transformers computes itself; its arguments have these names."""

    def loss(module: nn.Module, *batch: torch.Tensor) -> torch.Tensor:
        with scope():
            return module(**dict(zip(names, batch, strict=True))).loss

    return loss


_SPECIAL = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_DRY = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def _gpt2(scope: Callable[[], Any]) -> Case:
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": LENGTH}
    dry = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    ids = tokens()
    loss = _transformers(scope, "input_ids", "labels")
    return Case(GPT2LMHeadModel(GPT2Config(**sizes, **dry, **_SPECIAL)), loss, (ids, ids))


def _llama(scope: Callable[[], Any]) -> Case:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(**_SMALL, num_key_value_heads=2, max_position_embeddings=LENGTH, **_SPECIAL)
    ids = tokens()
    return Case(LlamaForCausalLM(config), _transformers(scope, "input_ids", "labels"), (ids, ids))


def _bert(scope: Callable[[], Any]) -> Case:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(**_SMALL, **_DRY, max_position_embeddings=LENGTH, vocab_size=VOCABULARY)
    ids = tokens()
    mask = (torch.arange(LENGTH)[None] < torch.randint(8, LENGTH, (BATCH, 1))).long()
    masked = torch.where(torch.rand(BATCH, LENGTH) < 0.3, ids, -100)
    loss = _transformers(scope, "input_ids", "attention_mask", "labels")
    return Case(BertForMaskedLM(config), loss, (ids, mask, masked))


def _vit(scope: Callable[[], Any]) -> Case:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(**_SMALL, **_DRY, image_size=32, patch_size=8, num_labels=10)
    loss = _transformers(scope, "pixel_values", "labels")
    return Case(ViTForImageClassification(config), loss, (images(), labels()))


def _t5(scope: Callable[[], Any]) -> Case:
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": VOCABULARY}
    config = T5Config(**sizes, dropout_rate=0.0, decoder_start_token_id=0)
    loss = _transformers(scope, "input_ids", "labels")
    return Case(T5ForConditionalGeneration(config), loss, (tokens(), tokens()))


def _experts(scope: Callable[[], Any]) -> Case:
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    experts = {"moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2, "head_dim": 8}
    config = Qwen3MoeConfig(
        **_SMALL,
        **experts,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
        experts_implementation="batched_mm",
        **_SPECIAL,
    )
    ids = tokens()
    return Case(Qwen3MoeForCausalLM(config), _transformers(scope, "input_ids", "labels"), (ids, ids))


def _resnet(scope: Callable[[], Any]) -> Case:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=10
    )
    loss = _transformers(scope, "pixel_values", "labels")
    return Case(ResNetForImageClassification(config), loss, (images(), labels()))


MODELS: dict[str, Callable[[Callable[[], Any]], Case]] = {
    "encoder": lambda scope: Case(Encoder(), _language(scope), (tokens(), tokens())),
    "lstm": lambda scope: Case(Recurrent(), _language(scope), (tokens(), tokens())),
    "convolutions": lambda scope: Case(
        Convolutional(), _classes(scope), (torch.randn(BATCH, 3, 16, 16), labels())
    ),
    "gpt2": _gpt2,
    "llama": _llama,
    "bert": _bert,
    "vit": _vit,
    "t5": _t5,
    "experts": _experts,
    "resnet": _resnet,
}
SCOPES: dict[str, Callable[[], Any]] = {
    "replicate": epl.replicate,
    "split": lambda: epl.split(device_count=2),
}


def make(name: str, scope: str = "replicate") -> Case:
    """A model by its name, the same in every call."""
    torch.manual_seed(0)
    return MODELS[name](SCOPES[scope])


def eager(
    module: nn.Module, loss: Callable[..., Any], optimizer: torch.optim.Optimizer, *batch: Any
) -> float:
    """A training step as torch makes it; its loss."""
    optimizer.zero_grad()
    value = loss(module, *batch)
    value.backward()
    optimizer.step()
    return value.item()


def assert_same_state(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """Equal keys and integers; elements within a tolerance of the largest one of their tensor, or of 0.01."""
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        assert (found[name].dtype, found[name].shape) == (tensor.dtype, tensor.shape), name
        gap = (found[name].double() - tensor.double()).abs().max().item()
        largest = max(tensor.double().abs().max().item(), 1e-2) if tensor.is_floating_point() else 0
        assert gap <= tolerance * largest, f"{name}: {gap} of {largest}"
