#!/usr/bin/env python
"""Writes tests/frameworks/tiny: models like those of export.py, of tens of kilobytes, with inputs and ONNX Runtime's answers.

    python tests/frameworks/export_tiny.py [NAME ...]

The files are kept in the repository, so that tests without PyTorch and ONNX Runtime compile what they export. NAME.onnx
is the model; NAME.npz has its inputs as "in.<name>" and the answers as "out.0", "out.1", ...
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from export import (
    SEED,
    Detected,
    Example,
    bert_base,
    clip,
    distilbert,
    fill_zero_layers,
    gpt2,
    image,
    settle_batch_norms,
    t5_encoder,
    whisper_encoder,
    write,
)
from torch import nn
from torchvision import models
from torchvision.models.convnext import CNBlockConfig
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor
from torchvision.models.mobilenetv3 import InvertedResidualConfig
from torchvision.ops import MultiScaleRoIAlign

FOLDER = Path(__file__).resolve().parent / "tiny"
LARGEST = 300_000  # bytes of a model


def classifier(make, size: int = 32) -> Example:
    module = make().eval()
    settle_batch_norms(module, image(size, batch=4))
    fill_zero_layers(module)
    return Example(module, {"input": image(size)})


def mobilenet_v2() -> nn.Module:
    settings = [[1, 8, 1, 1], [4, 8, 2, 2], [4, 16, 1, 2]]
    return models.MobileNetV2(num_classes=10, width_mult=0.5, inverted_residual_setting=settings)


def mobilenet_v3() -> nn.Module:
    row = partial(InvertedResidualConfig, width_mult=1)
    settings = [
        row(8, 3, 16, 8, True, "RE", 2, 1),
        row(8, 5, 24, 16, True, "HS", 2, 1),
        row(16, 5, 32, 16, False, "HS", 1, 1),
    ]
    return models.MobileNetV3(settings, last_channel=32, num_classes=10)


def densenet() -> nn.Module:
    return models.DenseNet(growth_rate=4, block_config=(2, 3), num_init_features=8, bn_size=2, num_classes=10)


def shufflenet() -> nn.Module:
    return models.ShuffleNetV2([2, 1, 1], [8, 16, 24, 32, 40], num_classes=10)


def convnext() -> nn.Module:
    return models.ConvNeXt([CNBlockConfig(16, 24, 1), CNBlockConfig(24, None, 1)], num_classes=10)


def swin() -> nn.Module:
    return models.SwinTransformer([4, 4], 16, [2], [2], [2, 2], num_classes=10)


def vit() -> nn.Module:
    return models.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=10)


def faster_rcnn() -> Example:
    """Proposals, suppression, pooled regions: the number of answers depends on the image."""
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
    backbone.out_channels = 8
    module = FasterRCNN(
        backbone,
        min_size=64,
        max_size=64,
        rpn_anchor_generator=AnchorGenerator(((16, 32),), ((0.5, 1.0, 2.0),)),
        box_roi_pool=MultiScaleRoIAlign(["0"], 3, 2),
        box_head=nn.Sequential(nn.Flatten(), nn.Linear(72, 16), nn.ReLU()),
        box_predictor=FastRCNNPredictor(16, 4),
        rpn_pre_nms_top_n_test=40,
        rpn_post_nms_top_n_test=20,
        box_score_thresh=0.3,
    ).eval()
    with torch.no_grad():
        for path, part in module.named_modules():
            if path.endswith(("cls_logits", "cls_score")):
                part.weight *= 30
    return Example(Detected(module), {"input": image(64)[0]}, ("boxes", "scores", "labels"))


TEXT = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
MODELS = {
    "mobilenet_v2": lambda: classifier(mobilenet_v2),
    "mobilenet_v3": lambda: classifier(mobilenet_v3),
    "densenet": lambda: classifier(densenet),
    "shufflenet": lambda: classifier(shufflenet),
    "convnext": lambda: classifier(convnext),
    "swin": lambda: classifier(swin),
    "vit": lambda: classifier(vit),
    "faster_rcnn": faster_rcnn,
    "bert": lambda: bert_base(12, max_position_embeddings=16, **TEXT),
    "distilbert": lambda: distilbert(
        12, vocab_size=64, dim=32, n_layers=2, n_heads=2, hidden_dim=48, max_position_embeddings=16
    ),
    "gpt2": lambda: gpt2(10, vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2),
    "t5": lambda: t5_encoder(10, vocab_size=64, d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2),
    "whisper": lambda: whisper_encoder(
        24,
        num_mel_bins=8,
        max_source_positions=12,
        d_model=32,
        encoder_layers=2,
        encoder_attention_heads=2,
        encoder_ffn_dim=48,
    ),
    "clip": lambda: clip(
        8,
        text_config={**TEXT, "max_position_embeddings": 8, "eos_token_id": 63},
        vision_config={**{k: v for k, v in TEXT.items() if k != "vocab_size"}, "image_size": 16, "patch_size": 8},
        projection_dim=16,
    ),
}
DYNAMO = ["mobilenet_v3", "vit", "bert", "gpt2"]


def save(name: str) -> None:
    path = FOLDER / f"{name}.onnx"
    torch.manual_seed(SEED)
    with torch.no_grad():
        example = MODELS[name.removesuffix(".dynamo")]()
        write(name, example, path, dynamo=name.endswith(".dynamo"))
    inputs = {key: value.numpy() for key, value in example.inputs.items()}
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    outputs = session.run(None, {key: inputs[key] for key in (value.name for value in session.get_inputs())})
    for i, output in enumerate(outputs):
        if output.size == 0 or not output.any():
            raise SystemExit(f"{name}: output {i} says nothing")
    tensors = {f"in.{key}": value for key, value in inputs.items()}
    np.savez_compressed(path.with_suffix(".npz"), **tensors, **{f"out.{i}": out for i, out in enumerate(outputs)})
    print(name, path.stat().st_size, [out.shape for out in outputs], flush=True)
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"{name} is too large to keep")


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in names or [*MODELS, *(f"{name}.dynamo" for name in DYNAMO)]:
        try:
            save(name)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
