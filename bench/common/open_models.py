"""Whole models with dynamic extents (tests/frameworks/export_open.py), and the extents that bench/dynamic.py measures."""

from __future__ import annotations

Extents = dict[str, int]  # of named dimensions


def texts(*lengths: tuple[int, int], length: str = "length") -> list[Extents]:
    return [{"batch": batch, length: steps} for batch, steps in lengths]


IMAGES: list[Extents] = [
    {"batch": 1, "h": 224, "w": 224},
    {"batch": 2, "h": 192, "w": 160},
    {"batch": 1, "h": 250, "w": 333},
]
BATCHES: list[Extents] = [{"batch": batch} for batch in (1, 2, 5)]

OPEN_MODELS: dict[str, list[Extents]] = {
    "resnet18.open": IMAGES,
    "resnet50.image.open": IMAGES,
    "mobilenet_v2.open": IMAGES,
    "mobilenet_v3_large.image.open": IMAGES,
    "efficientnet_b0.image.open": IMAGES,
    "squeezenet1_1.image.open": IMAGES,
    "densenet121.image.open": IMAGES,
    "inception_v3.image.open": [{"batch": 1, "h": 299, "w": 299}, *IMAGES[1:]],
    "vgg16.open": BATCHES,
    "vit_b_16.open": BATCHES,
    "bert_base.open": texts((1, 128), (2, 50), (1, 333)),
    "gpt2.open": texts((1, 64), (2, 50), (1, 333)),
    "shufflenet_v2_x1_0.open": IMAGES,
    "convnext_tiny.image.open": IMAGES,
    "swin_t.open": BATCHES,
    "regnet_y_400mf.image.open": IMAGES,
    "mnasnet1_0.image.open": IMAGES,
    "deeplabv3_resnet50.image.open": IMAGES,
    "segformer.open": [
        {"batch": 1, "h": 256, "w": 256},
        {"batch": 2, "h": 192, "w": 160},
        {"batch": 1, "h": 256, "w": 320},
    ],
    "r3d_18.open": [
        {"batch": 1, "frames": 8, "h": 112, "w": 112},
        {"batch": 2, "frames": 4, "h": 96, "w": 128},
        {"batch": 1, "frames": 11, "h": 125, "w": 90},
    ],
    "lstm_512.open": texts((1, 512), (4, 100), (1, 1000), length="steps"),
    "bilstm.open": texts((1, 128), (4, 50), (1, 333), length="steps"),
    "llama_prefill.open": texts((1, 128), (2, 50), (1, 333)),
    "llama_decode.open": texts((1, 128), (2, 50), (1, 333), length="past"),
    "whisper_encoder.open": [*BATCHES[:2], {"batch": 3}],
    "whisper_decoder.open": [
        {"batch": 1, "length": 32, "frames": 1500},
        {"batch": 2, "length": 7, "frames": 400},
        {"batch": 1, "length": 100, "frames": 777},
    ],
    "fasterrcnn_mobilenet_v3_large_320_fpn.open": [
        {"height": 320, "width": 320},
        {"height": 250, "width": 333},
        {"height": 400, "width": 260},
    ],
}
