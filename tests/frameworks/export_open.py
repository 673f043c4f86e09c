"""More models with dynamic dimensions, called NAME.open, beside those of export.py: import it, and export.export() knows them.

A dimension has a name wherever the exporter can keep it dynamic. Where a model computes its tables for one size (positions of a vision
transformer, windows of a swin, the pool before vgg's layers), only the batch is dynamic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import export
import torch
from export import MODELS, Example
from torch import nn

BATCH = {0: "batch"}
IMAGE = {0: "batch", 2: "h", 3: "w"}
LONGEST = 1024  # of a text


def opened(name: str, **axes: dict[int, str]) -> Callable[[], Example]:
    """The model of export.py with dynamic axes; a key without inputs of that name says them of all inputs."""

    def build() -> Example:
        example = MODELS[name]()
        example.dynamic = {key: axes.get(key, axes.get("all", {})) for key in example.inputs}
        return example

    return build


for _name in (
    "resnet50",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "squeezenet1_1",
    "densenet121",
    "inception_v3",
    "convnext_tiny",
    "regnet_y_400mf",
    "mnasnet1_0",
    "deeplabv3_resnet50",
):
    MODELS[f"{_name}.image.open"] = opened(_name, input=IMAGE)
for _name in ("vgg16", "vit_b_16", "swin_t"):
    MODELS[f"{_name}.open"] = opened(_name, input=BATCH)
MODELS["segformer.open"] = opened("segformer", pixel_values=IMAGE)
MODELS["r3d_18.open"] = opened("r3d_18", input={0: "batch", 2: "frames", 3: "h", 4: "w"})
MODELS["bilstm.open"] = opened("bilstm", input={0: "batch", 1: "steps"})
MODELS["whisper_encoder.open"] = opened("whisper_encoder", input_features=BATCH)


class Masked(nn.Module):
    """A decoder of transformers whose causal mask is that of the longest text, cropped to the one at hand."""

    def __init__(self, answers: export.Answers) -> None:
        super().__init__()
        self.answers = answers
        self.register_buffer("mask", export.causal_mask(LONGEST))

    def forward(self, ids: torch.Tensor, *others: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self.answers.fixed["attention_mask"] = self.mask[:, :, : ids.shape[1], : ids.shape[1]]
        return self.answers(ids, *others)


def masked(name: str, **axes: dict[int, str]) -> Callable[[], Example]:
    def build() -> Example:
        example = opened(name, **axes)()
        example.module = Masked(example.module)
        return example

    return build


TEXT = {0: "batch", 1: "length"}
MODELS["gpt2.open"] = masked("gpt2", input_ids=TEXT)
MODELS["whisper_decoder.open"] = masked(
    "whisper_decoder", input_ids=TEXT, encoder_hidden_states={0: "batch", 1: "frames"}
)


class OpenLlama(export.Llama):
    """Angles and mask of the longest text are cropped to the tokens and the cache at hand."""

    def __init__(self, sizes: export.LlamaSizes) -> None:
        super().__init__(sizes, LONGEST, 0)

    def forward(self, ids: torch.Tensor, *cache: torch.Tensor) -> tuple[torch.Tensor, ...]:
        past = cache[0].shape[2] if cache else 0
        end = past + ids.shape[1]
        x, out = self.words(ids), []
        angles = self.cosine[past:end], self.sine[past:end]
        for index, layer in enumerate(self.layers):
            x, key, value = layer(x, angles, self.mask[past:end, :end], cache[2 * index : 2 * index + 2])
            out += [key, value]
        return (self.logits(self.norm(x)), *out) if cache else (self.logits(self.norm(x)),)


def open_llama(name: str, dynamic: Callable[[Sequence[str]], dict[str, dict[int, str]]]) -> Callable[[], Example]:
    def build(**arguments: Any) -> Example:
        example = MODELS[name](**arguments)
        example.module = OpenLlama(export.LlamaSizes(**arguments)).eval()
        example.dynamic = dynamic(list(example.inputs))
        return example

    return build


MODELS["llama_prefill.open"] = open_llama("llama_prefill", lambda names: dict.fromkeys(names, TEXT))
MODELS["llama_decode.open"] = open_llama(
    "llama_decode",
    lambda names: {name: {0: "batch"} if name == "input_ids" else {0: "batch", 2: "past"} for name in names},
)
