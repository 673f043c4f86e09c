#!/usr/bin/env python
"""Exports any model of torchvision's or transformers' lists to ONNX: seeded weights, small configurations, inputs to go with them.

    python tests/frameworks/export_any.py --out FOLDER torchvision/NAME transformers/NAME ...

What a model is called with is found from its kind (torchvision) or from the names of its parameters (transformers), not
from a list of models. `export.py` says what a file holds; KIND/NAME becomes FOLDER/KIND.NAME.onnx. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from export import SEED, Detected, Example, Segmented, fill_zero_layers, image, settle_batch_norms, write
from torch import nn

#: Sizes that a configuration of transformers is brought down to; widths and their heads by one factor.
MAX_LAYERS, MAX_WIDTH, MAX_WORDS, MAX_EXPERTS = 2, 1024, 8192, 8
LAYERS = ("layers", "num_layers", "n_layer", "n_layers", "depth", "num_blocks")
WIDTHS = ("hidden_size", "intermediate_size", "d_model", "n_embd", "d_inner", "dim", "hidden_dim", "n_embed")
HEADS = ("num_attention_heads", "num_key_value_heads", "n_head", "n_heads", "num_heads")
TOKENS, FRAMES, SAMPLES, CLIP = 64, 256, 16000, 8


def first_tensors(value: Any) -> Iterator[torch.Tensor]:
    """Tensors of floats, in the order in which tuples hold them."""
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from first_tensors(each)
    elif isinstance(value, torch.Tensor) and value.is_floating_point():
        yield value


class First(nn.Module):
    """The tensors of a model's answer, whatever holds them, without caches and losses."""

    def __init__(self, module: nn.Module, names: Sequence[str], **fixed: Any) -> None:
        super().__init__()
        self.module, self.names, self.fixed = module, list(names), fixed

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = self.module(**dict(zip(self.names, inputs, strict=True)), **self.fixed)
        values = found.to_tuple() if hasattr(found, "to_tuple") else found
        return (next(first_tensors(values)),)


# ---- torchvision -----------------------------------------------------------------------------------------------------


def torchvision_example(name: str) -> Example:
    from torchvision import models

    kind = models.get_model_builder(name).__module__.split(".")[2]
    if kind == "detection":
        module = models.get_model(name, weights=None, weights_backbone=None).eval()
        settle_batch_norms(module, list(image(320, batch=2)))
        fields = ("boxes", "scores", "labels")
        return Example(Detected(module, fields), {"input": image(320)[0]}, fields)
    if kind == "segmentation":
        module = models.get_model(name, weights=None, weights_backbone=None).eval()
        settle_batch_norms(module, image(batch=2))
        return Example(Segmented(module), {"input": image()})
    if kind == "video":
        module = models.get_model(name, weights=None).eval()
        frames, size = (16, 224) if "mvit" in name or "s3d" in name else (CLIP, 112)
        clip = torch.randn(1, 3, frames, size, size)
        settle_batch_norms(module, torch.cat((clip, clip.flip(0) * 0.5)))
        return Example(module, {"input": clip})
    if kind == "optical_flow":
        module = models.get_model(name, weights=None).eval()
        images = {"image1": image(128), "image2": image(128)}
        settle_batch_norms(module, *images.values())
        return Example(First(module, list(images), num_flow_updates=2), images)
    size = 299 if "inception" in name else 224
    module = models.get_model(name, weights=None).eval()
    settle_batch_norms(module, image(size, batch=4))
    fill_zero_layers(module)
    return Example(module, {"input": image(size)})


# ---- transformers ----------------------------------------------------------------------------------------------------


def shrink(config: Any) -> None:
    """Fewer layers, words and experts, and narrower ones where they are wide; configurations inside it too."""
    fields = dict(vars(config))
    widest = max((fields[key] for key in WIDTHS if isinstance(fields.get(key), int)), default=0)
    factor = 1
    while widest // factor > 4 * MAX_WIDTH:
        factor *= 2
    for key, value in fields.items():
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            shrink(value)
        elif value is None and key == "vocab_size":  # that of a checkpoint's tokenizer
            config.vocab_size, config.pad_token_id = MAX_WORDS, 1
        elif not isinstance(value, int) or isinstance(value, bool):
            continue
        elif key.endswith(LAYERS) and value > MAX_LAYERS:
            setattr(config, key, MAX_LAYERS)
        elif key == "vocab_size" and value > MAX_WORDS:
            setattr(config, key, MAX_WORDS)
        elif "experts" in key and value > MAX_EXPERTS:
            setattr(config, key, MAX_EXPERTS)
        elif key in (*WIDTHS, *HEADS) and value % factor == 0:
            setattr(config, key, value // factor)
    if isinstance(vars(config).get("layer_types"), list):
        config.layer_types = config.layer_types[: config.num_hidden_layers]
    words = getattr(config, "vocab_size", None)
    for key, value in vars(config).items():
        if key.endswith("_token_id") and isinstance(value, int) and isinstance(words, int) and value >= words:
            setattr(config, key, words - 1)


def sizes(config: Any, *names: str, default: int) -> list[int]:
    """The first of these attributes that is there, of the configuration or of one inside it, as a list."""
    inside = [value for value in vars(config).values() if hasattr(value, "model_type")]
    for holder in (config, *inside):
        for name in names:
            if (value := getattr(holder, name, None)) is not None:
                return [int(part) for part in value] if isinstance(value, (list, tuple)) else [int(value)]
    return [default]


def input_of(name: str, config: Any) -> torch.Tensor | None:
    """What a parameter of that name is given; nothing for those that may be left out."""
    if name in ("input_ids", "decoder_input_ids"):
        return torch.randint(3, sizes(config, "vocab_size", default=100)[0] - 3, (1, TOKENS))
    if name == "pixel_values":
        edges = sizes(config, "image_size", default=224)
        channels = sizes(config, "num_channels", "in_channels", default=3)[0]
        shape = (channels, *(edges if len(edges) == 2 else edges * 2))
        frames = sizes(config, "num_frames", default=0)[0]
        return torch.randn(1, *((frames,) if frames else ()), *shape)
    if name == "input_values":
        bins = getattr(config, "num_mel_bins", None)
        return torch.randn(1, getattr(config, "max_length", FRAMES), bins) if bins else torch.randn(1, SAMPLES)
    if name == "input_features":
        names = ("num_mel_bins", "input_feat_per_channel", "feature_size", "feature_projection_input_dim")
        bins = sizes(config, *names, default=80)[0]
        frames = 2 * getattr(config, "max_source_positions", FRAMES // 2)
        return torch.randn(1, bins, frames) if "whisper" in config.model_type else torch.randn(1, FRAMES, bins)
    if name == "inputs":  # of models that take whatever was embedded
        return torch.randn(1, TOKENS, sizes(config, "d_model", "hidden_size", default=MAX_WIDTH)[0])
    if name == "past_values":
        return torch.randn(
            1, sizes(config, "context_length", default=FRAMES)[0], sizes(config, "num_input_channels", default=1)[0]
        )
    return None


def module_of(config: Any) -> nn.Module:
    """The model of a configuration: a plain one, or what else there is of its kind; with plain attention where it has that."""
    from transformers import AutoBackbone, AutoModel, AutoModelForKeypointMatching

    first: Exception | None = None
    for kind in (AutoModel, AutoBackbone, AutoModelForKeypointMatching):
        for options in ({"attn_implementation": "eager"}, {}):  # some have one implementation only
            try:
                return kind.from_config(config, **options)
            except ValueError as error:
                first = first or error
    assert first is not None
    raise first


def transformers_example(name: str) -> Example:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config = CONFIG_MAPPING[name]()
    shrink(config)
    module = module_of(config).eval()
    settings = inspect.signature(module.forward).parameters
    taken = [key for key in settings if key != "decoder_input_ids" or getattr(config, "is_encoder_decoder", False)]
    inputs = {key: value for key in taken if (value := input_of(key, config)) is not None}
    fixed = {key: False for key in ("use_cache", "return_loss") if key in settings}
    settle_batch_norms(First(module, list(inputs), **fixed), *(torch.cat((v, v)) for v in inputs.values()))
    return Example(First(module, list(inputs), **fixed), inputs)


# ---- files -----------------------------------------------------------------------------------------------------------

KINDS = {"torchvision": torchvision_example, "transformers": transformers_example}


def export(full: str, folder: Path) -> Path:
    """FOLDER/KIND.NAME.onnx, made where it is missing, by the first exporter that can write it."""
    kind, name = full.split("/", 1)
    path = folder / f"{kind}.{name}.onnx"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        example = KINDS[kind](name)
        try:
            write(full, example, path, dynamo=False)
        except Exception as first:  # some models only the other exporter understands
            try:
                write(full, example, path, dynamo=True)
            except Exception:
                raise first from None
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description="Exports any model of torchvision or transformers to ONNX.")
    parser.add_argument("--out", type=Path, default=Path("build/models"))
    parser.add_argument("names", nargs="+", help="torchvision/NAME or transformers/NAME")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    failed = False
    for name in args.names:
        try:
            print(f"{name}: {export(name, args.out).stat().st_size / 1e6:.1f} MB", flush=True)
        except Exception as error:
            failed = True
            print(f"{name}: {type(error).__name__}: {str(error).strip()[:300]}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
