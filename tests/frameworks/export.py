#!/usr/bin/env python
"""Exports models of torchvision and transformers to ONNX, with seeded random weights and inputs to go with them.

    python tests/frameworks/export.py --out FOLDER [--list] [NAME | NAME.dynamo ...]

A model NAME becomes FOLDER/NAME.onnx and FOLDER/NAME.npz, the inputs by name. `NAME` is written by the exporter that traces
TorchScript, `NAME.dynamo` by the one that captures graphs. A file that exists is left as it is. Nothing is downloaded.

Random weights alone make activations explode or vanish, and an answer of zeros or infinities agrees with anything: so
batch normalisations get the statistics of a batch of random inputs, which brings every layer's values near one.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import nn

torch.set_num_threads(1)  # tracing has little to share, and its threads wait by spinning
torch.backends.mha.set_fastpath_enabled(False)  # an operator that ONNX has no name for

SEED = 7
OPSET = 17  # of the exporter of TorchScript
OPSET_DYNAMO = 18  # the oldest that the other one writes


@dataclass
class Example:
    """A module, what it is called with, and the names of its inputs and outputs."""

    module: nn.Module
    inputs: dict[str, torch.Tensor]
    outputs: Sequence[str] = ("output",)
    dynamic: dict[str, dict[int, str]] = field(default_factory=dict)  # of an input: names of its dynamic dimensions


MODELS: dict[str, Callable[[], Example]] = {}


def model(name: str) -> Callable[[Callable[[], Example]], Callable[[], Example]]:
    def add(function: Callable[[], Example]) -> Callable[[], Example]:
        MODELS[name] = function
        return function

    return add


# ---- torchvision: classification and segmentation --------------------------------------------------------------------


def image(size: int = 224, batch: int = 1) -> torch.Tensor:
    return torch.randn(batch, 3, size, size)


def settle_batch_norms(module: nn.Module, *inputs: Any) -> None:
    """Gives batch normalisations the mean and variance that they see for `inputs`, and scales and shifts of their own."""
    norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    with torch.no_grad():
        for norm in norms:
            norm.weight.uniform_(0.7, 1.1)
            norm.bias.normal_(0, 0.1)
            norm.momentum = 1.0
            norm.train()
        module(*inputs)
    module.eval()


def fill_zero_layers(module: nn.Module) -> None:
    """Some models begin with a last layer of zeros, to be trained; its answers would compare nothing."""
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.Linear) and not part.weight.any():
                part.weight.normal_(0, 0.05)


def classifier(name: str, size: int = 224, **arguments: Any) -> Callable[[], Example]:
    def build() -> Example:
        import torchvision

        module = getattr(torchvision.models, name)(weights=None, **arguments).eval()
        settle_batch_norms(module, image(size, batch=4))
        fill_zero_layers(module)
        return Example(module, {"input": image(size)})

    return build


for _name in (
    "resnet18",
    "resnet50",
    "mobilenet_v2",
    "squeezenet1_1",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "densenet121",
    "vgg16",
    "shufflenet_v2_x1_0",
    "convnext_tiny",
    "swin_t",
    "vit_b_16",
    "regnet_y_400mf",
    "mnasnet1_0",
):
    MODELS[_name] = classifier(_name)
MODELS["inception_v3"] = classifier("inception_v3", 299, init_weights=True)


def with_dynamic_images(name: str) -> Callable[[], Example]:
    def build() -> Example:
        example = MODELS[name]()
        example.dynamic = {"input": {0: "batch", 2: "h", 3: "w"}}
        return example

    return build


for _name in ("resnet18", "mobilenet_v2", "shufflenet_v2_x1_0"):
    MODELS[f"{_name}.open"] = with_dynamic_images(_name)


@model("resnet50.open")
def resnet50_of_any_batch() -> Example:
    example = MODELS["resnet50"]()
    example.dynamic = {"input": {0: "batch"}}
    return example


@model("r3d_18")
def r3d_18(frames: int = 8, size: int = 112) -> Example:
    from torchvision.models import video

    module = video.r3d_18(weights=None).eval()
    clips = torch.randn(3, 3, frames, size, size)
    settle_batch_norms(module, clips[1:])
    return Example(module, {"input": clips[:1]})


class Segmented(nn.Module):
    """The one image of a segmentation model's dictionary of answers."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x)["out"]


def segmentation(name: str, size: int = 224) -> Callable[[], Example]:
    def build() -> Example:
        import torchvision

        module = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None).eval()
        settle_batch_norms(module, image(size, batch=2))
        return Example(Segmented(module), {"input": image(size)})

    return build


for _name in ("fcn_resnet50", "deeplabv3_resnet50"):
    MODELS[_name] = segmentation(_name)


# ---- torchvision: detection, whose number of answers depends on the image --------------------------------------------


class Detected(nn.Module):
    """Boxes, scores and labels of one image, and what else a model says of each box."""

    def __init__(self, module: nn.Module, fields: Sequence[str]) -> None:
        super().__init__()
        self.module, self.fields = module, list(fields)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = self.module([x])[0]
        return tuple(found[name] for name in self.fields)


def detector(
    name: str, size: int, spread: float, dynamic: bool, more: Sequence[str] = (), **arguments: Any
) -> Callable[[], Example]:
    """`spread` scales the last layers, so that scores are far enough apart to have one order; `more` are fields beside
    boxes, scores and labels."""

    def build() -> Example:
        from torchvision.models import detection

        module = getattr(detection, name)(weights=None, weights_backbone=None, **arguments).eval()
        settle_batch_norms(module, list(image(size, batch=2)))
        with torch.no_grad():
            for path, part in module.named_modules():
                is_last = path.endswith(("cls_logits", "cls_score", "bbox_pred"))
                if (is_last or ".classification_head.module_list" in path) and isinstance(part, (nn.Conv2d, nn.Linear)):
                    part.weight *= spread
        open_dims = {"input": {1: "height", 2: "width"}} if dynamic else {}
        fields = ("boxes", "scores", "labels", *more)
        return Example(Detected(module, fields), {"input": image(size)[0]}, fields, open_dims)

    return build


MODELS["ssdlite320_mobilenet_v3_large"] = detector("ssdlite320_mobilenet_v3_large", 320, 8.0, False)
MODELS["retinanet_resnet50_fpn"] = detector("retinanet_resnet50_fpn", 256, 40.0, False, min_size=256, max_size=256)
MODELS["fasterrcnn_mobilenet_v3_large_320_fpn"] = detector(
    "fasterrcnn_mobilenet_v3_large_320_fpn", 320, 40.0, False, box_score_thresh=0.3
)
MODELS["fasterrcnn_mobilenet_v3_large_320_fpn.open"] = detector(
    "fasterrcnn_mobilenet_v3_large_320_fpn", 320, 40.0, True, box_score_thresh=0.3
)
MODELS["maskrcnn_resnet50_fpn"] = detector(
    "maskrcnn_resnet50_fpn",
    256,
    6.0,  # with 40, an input that is moved by a millionth moves boxes by hundreds of pixels, in ONNX Runtime too
    False,
    ("masks",),
    min_size=256,
    max_size=256,
    box_score_thresh=0.02,
    box_detections_per_img=20,
)
MODELS["keypointrcnn_resnet50_fpn"] = detector(
    "keypointrcnn_resnet50_fpn",
    256,
    40.0,
    False,
    ("keypoints", "keypoints_scores"),
    min_size=256,
    max_size=256,
    box_score_thresh=0.3,
)


# ---- transformers ---------------------------------------------------------------------------------------------------


class Answers(nn.Module):
    """A model of transformers called with its inputs in order and with what is fixed, which answers with these fields."""

    def __init__(self, module: nn.Module, names: Sequence[str], fields: Sequence[str], **fixed: Any) -> None:
        super().__init__()
        self.module, self.names, self.fields, self.fixed = module, list(names), list(fields), fixed

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = self.module(**dict(zip(self.names, inputs, strict=True)), **self.fixed)
        return tuple(found[name] for name in self.fields)


def answers(module: nn.Module, inputs: dict[str, torch.Tensor], *fields: str, **fixed: Any) -> Example:
    return Example(Answers(module.eval(), list(inputs), fields, **fixed), inputs, fields)


def tokens(config: Any, length: int, batch: int = 1) -> torch.Tensor:
    return torch.randint(0, config.vocab_size, (batch, length))


def padding_mask(length: int, left_out: int) -> torch.Tensor:
    """Attention to all but the last `left_out` tokens."""
    mask = torch.ones(1, length, dtype=torch.int64)
    mask[:, length - left_out :] = 0
    return mask


def causal_mask(length: int) -> torch.Tensor:
    """What is added to scores so that a token sees those before it; the model's own way of making it cannot be traced."""
    return torch.full((1, 1, length, length), torch.finfo(torch.float32).min).triu(1)


EAGER = {"attn_implementation": "eager"}  # the only one that tracing understands in all of them


@model("bert_base")
def bert_base(length: int = 128, **sizes: Any) -> Example:
    from transformers import BertConfig, BertModel

    config = BertConfig(**sizes, **EAGER)
    inputs = {
        "input_ids": tokens(config, length),
        "attention_mask": padding_mask(length, length // 8),
        "token_type_ids": (torch.arange(length) > length // 2).long()[None],
    }
    return answers(BertModel(config), inputs, "last_hidden_state", "pooler_output")


@model("bert_base.open")
def bert_base_of_any_length() -> Example:
    example = bert_base()
    example.dynamic = {name: {0: "batch", 1: "length"} for name in example.inputs}
    return example


@model("distilbert")
def distilbert(length: int = 128, **sizes: Any) -> Example:
    from transformers import DistilBertConfig, DistilBertModel

    config = DistilBertConfig(**sizes, **EAGER)
    inputs = {"input_ids": tokens(config, length), "attention_mask": padding_mask(length, length // 8)}
    return answers(DistilBertModel(config), inputs, "last_hidden_state")


@model("gpt2")
def gpt2(length: int = 64, **sizes: Any) -> Example:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(**sizes, use_cache=False, **EAGER)
    inputs = {"input_ids": tokens(config, length)}
    return answers(GPT2LMHeadModel(config), inputs, "logits", attention_mask=causal_mask(length))


@model("t5_encoder")
def t5_encoder(length: int = 64, **sizes: Any) -> Example:
    from transformers import T5Config, T5EncoderModel

    config = T5Config(**sizes, use_cache=False)
    inputs = {"input_ids": tokens(config, length), "attention_mask": padding_mask(length, length // 8)}
    return answers(T5EncoderModel(config), inputs, "last_hidden_state")


@model("whisper_encoder")
def whisper_encoder(frames: int = 3000, **sizes: Any) -> Example:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    sizes = sizes or {"d_model": 384, "encoder_layers": 4, "encoder_attention_heads": 6, "encoder_ffn_dim": 1536}
    config = WhisperConfig(**sizes, **EAGER)
    features = torch.randn(1, config.num_mel_bins, frames)
    return answers(WhisperEncoder(config), {"input_features": features}, "last_hidden_state")


@model("whisper_decoder")
def whisper_decoder(length: int = 32, frames: int = 1500, **sizes: Any) -> Example:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperDecoder

    sizes = sizes or {"d_model": 384, "decoder_layers": 4, "decoder_attention_heads": 6, "decoder_ffn_dim": 1536}
    config = WhisperConfig(**sizes, **EAGER)
    inputs = {"input_ids": tokens(config, length), "encoder_hidden_states": torch.randn(1, frames, config.d_model)}
    mask = causal_mask(length)
    return answers(WhisperDecoder(config), inputs, "last_hidden_state", attention_mask=mask, use_cache=False)


@model("segformer")
def segformer(size: int = 256, **sizes: Any) -> Example:
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    module = SegformerForSemanticSegmentation(SegformerConfig(num_labels=21, **sizes)).eval()
    settle_batch_norms(module, image(size, batch=2))
    return answers(module, {"pixel_values": image(size)}, "logits")


@model("clip")
def clip(length: int = 77, **sizes: Any) -> Example:
    from transformers import CLIPConfig, CLIPModel

    config = CLIPConfig(**sizes, **EAGER)
    module = CLIPModel(config)
    vision = config.vision_config.image_size
    ids = torch.randint(1, config.text_config.vocab_size - 2, (2, length))
    ids[:, -1] = config.text_config.vocab_size - 1  # the text ends at its largest token
    inputs = {"input_ids": ids, "pixel_values": image(vision), "attention_mask": torch.ones_like(ids)}
    return answers(module, inputs, "logits_per_image", "text_embeds", "image_embeds")


# ---- sequences, written here -----------------------------------------------------------------------------------------


class Sequences(nn.Module):
    """A recurrent module without its last states."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x)[0]


@model("lstm_512")
def lstm_512(steps: int = 512) -> Example:
    return Example(Sequences(nn.LSTM(64, 128, batch_first=True)), {"input": torch.randn(1, steps, 64)})


@model("lstm_512.open")
def lstm_of_any_length() -> Example:
    example = lstm_512()
    example.dynamic = {"input": {0: "batch", 1: "steps"}}
    return example


@model("bilstm")
def bilstm(steps: int = 128) -> Example:
    module = nn.LSTM(80, 256, num_layers=2, batch_first=True, bidirectional=True)
    return Example(Sequences(module), {"input": torch.randn(1, steps, 80)})


@dataclass
class LlamaSizes:
    layers: int = 4
    width: int = 2048
    heads: int = 16
    key_heads: int = 4
    hidden: int = 5632
    words: int = 32000

    @property
    def head(self) -> int:
        return self.width // self.heads


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotated(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Rotary positions: the two halves of a head are the coordinates that turn."""
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


class LlamaLayer(nn.Module):
    def __init__(self, sizes: LlamaSizes) -> None:
        super().__init__()
        self.sizes = sizes
        narrow = sizes.key_heads * sizes.head
        self.query = nn.Linear(sizes.width, sizes.width, bias=False)
        self.key, self.value = (nn.Linear(sizes.width, narrow, bias=False) for _ in range(2))
        self.output = nn.Linear(sizes.width, sizes.width, bias=False)
        self.gate, self.up = (nn.Linear(sizes.width, sizes.hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(sizes.hidden, sizes.width, bias=False)
        self.before, self.after = RMSNorm(sizes.width), RMSNorm(sizes.width)

    def forward(
        self,
        x: torch.Tensor,
        angles: tuple[torch.Tensor, torch.Tensor],
        mask: torch.Tensor,
        cache: Sequence[torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        sizes, (batch, length, _) = self.sizes, x.shape
        normed = self.before(x)
        query, key, value = (
            part(normed).view(batch, length, -1, sizes.head).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        query, key = rotated(query, *angles), rotated(key, *angles)
        if cache:
            key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
        repeats = sizes.heads // sizes.key_heads
        keys, values = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
        scores = query @ keys.transpose(2, 3) / sizes.head**0.5 + mask
        seen = (torch.softmax(scores, -1) @ values).transpose(1, 2).reshape(batch, length, -1)
        x = x + self.output(seen)
        normed = self.after(x)
        return x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed)), key, value


class Llama(nn.Module):
    """A decoder of today's shape: rotary positions, heads that share keys, gated layers. `past` is the length of its cache,
    whose keys and values of all layers are inputs and, one token longer, outputs."""

    def __init__(self, sizes: LlamaSizes, length: int, past: int) -> None:
        super().__init__()
        self.words = nn.Embedding(sizes.words, sizes.width)
        self.layers = nn.ModuleList(LlamaLayer(sizes) for _ in range(sizes.layers))
        self.norm = RMSNorm(sizes.width)
        self.logits = nn.Linear(sizes.width, sizes.words, bias=False)
        turns = torch.arange(past, past + length)[:, None] / 10000 ** (torch.arange(0, sizes.head, 2) / sizes.head)
        angles = torch.cat((turns, turns), 1)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())
        mask = torch.full((length, past + length), torch.finfo(torch.float32).min).triu(past + 1)
        self.register_buffer("mask", mask)

    def forward(self, ids: torch.Tensor, *cache: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x, out = self.words(ids), []
        for index, layer in enumerate(self.layers):
            x, key, value = layer(x, (self.cosine, self.sine), self.mask, cache[2 * index : 2 * index + 2])
            out += [key, value]
        return (self.logits(self.norm(x)), *out) if cache else (self.logits(self.norm(x)),)


def llama(length: int, past: int) -> Callable[[], Example]:
    def build(**arguments: Any) -> Example:
        sizes = LlamaSizes(**arguments)
        names = [f"{part}_{layer}" for layer in range(sizes.layers) for part in ("key", "value")] if past else []
        cache = {name: torch.randn(1, sizes.key_heads, past, sizes.head) for name in names}
        inputs = {"input_ids": torch.randint(0, sizes.words, (1, length)), **cache}
        return Example(Llama(sizes, length, past).eval(), inputs, ("logits", *(f"new_{name}" for name in names)))

    return build


MODELS["llama_prefill"] = llama(length=128, past=0)
MODELS["llama_decode"] = llama(length=1, past=128)


# ---- files -----------------------------------------------------------------------------------------------------------


def drop_notes(path: Path) -> None:
    """Takes out where in Python each node came from: paths of the machine that exported it."""
    model = onnx.load(path)
    for holder in (model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.graph.value_info):
        del holder.metadata_props[:]
    onnx.save(model, path)


def write(name: str, example: Example, path: Path, dynamo: bool) -> None:
    """Writes the model and its inputs; the model last and by its final name, so that it is whole where it is."""
    names, inputs = list(example.inputs), tuple(example.inputs.values())
    partial = path.with_suffix(".partial")
    common: dict[str, Any] = {"input_names": names, "output_names": list(example.outputs)}
    if dynamo:
        torch.onnx.export(
            example.module, inputs, str(partial), dynamo=True, opset_version=OPSET_DYNAMO, external_data=False, **common
        )
        drop_notes(partial)
    else:
        torch.onnx.export(
            example.module,
            inputs,
            str(partial),
            dynamo=False,
            opset_version=OPSET,
            do_constant_folding=True,
            dynamic_axes=example.dynamic,
            **common,
        )
    np.savez(path.with_suffix(".npz"), **{key: value.numpy() for key, value in example.inputs.items()})
    partial.rename(path)


def export(name: str, folder: Path) -> Path:
    """FOLDER/NAME.onnx, made where it is missing; beside it the inputs."""
    path = folder / f"{name}.onnx"
    if path.exists():
        return path
    base = name.removesuffix(".dynamo")
    if base not in MODELS:
        raise SystemExit(f"no model {name}; there are {', '.join(MODELS)}, each also with .dynamo")
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    start = time.perf_counter()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        write(name, MODELS[base](), path, dynamo=base != name)
    print(f"{name}: {path.stat().st_size / 1e6:.1f} MB in {time.perf_counter() - start:.1f} s", flush=True)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description="Exports models of PyTorch to ONNX.")
    parser.add_argument("--out", type=Path, default=Path("build/models"))
    parser.add_argument("--list", action="store_true", help="only print the names")
    parser.add_argument("names", nargs="*", help="all unless given")
    args = parser.parse_args()
    if args.list:
        print("\n".join(MODELS))
        return 0
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    failed = []
    for name in args.names or MODELS:
        try:
            export(name, args.out)
        except Exception as error:  # the next one may do better
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {str(error)[:1000]}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
