"""Convolutions: every one of nine networks (conv_shapes.txt), and kinds of them that those networks do not have."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from .case import Case, model_of, node, random

SHAPES = Path(__file__).parent.with_name("conv_shapes.txt")
USUAL = ["resnet18", "mobilenet_v2"]


class Conv(NamedTuple):
    """Channels first, one image. `pads`: all begins, then all ends; one number stands for all, as elsewhere."""

    channels: int
    extents: tuple[int, ...]
    outs: int
    taps: tuple[int, ...]
    stride: int = 1
    pads: int | tuple[int, ...] = 0
    dilation: int = 1
    groups: int = 1
    transposed: bool = False
    output_padding: int = 0

    def __str__(self) -> str:
        by = "x".join
        text = f"{self.channels}x{by(map(str, self.extents))} -> {self.outs}, {by(map(str, self.taps))}"
        text += f" / {self.stride}" if self.stride > 1 else ""
        text += f", dilation {self.dilation}" if self.dilation > 1 else ""
        return text + (f", {self.groups} groups" if self.groups > 1 else "")


def case_of(conv: Conv, prefix: str = "", count: int = 1) -> Case:
    """The convolution with its bias."""
    spatial = len(conv.extents)
    pads = (conv.pads,) * (2 * spatial) if isinstance(conv.pads, int) else conv.pads
    inputs = {"x": random(1, conv.channels, *conv.extents)}
    shape = (conv.channels, conv.outs) if conv.transposed else (conv.outs, conv.channels)
    weights = {"w": random(shape[0], shape[1] // conv.groups, *conv.taps), "b": random(conv.outs)}
    attributes: dict[str, Any] = {"strides": [conv.stride] * spatial, "pads": list(pads), "group": conv.groups}
    attributes["dilations"] = [conv.dilation] * spatial
    if conv.transposed and conv.output_padding:
        attributes["output_padding"] = [conv.output_padding] * spatial
    made = node("ConvTranspose" if conv.transposed else "Conv", ["x", "w", "b"], "y", **attributes)
    even = all(begin == end for begin, end in zip(pads[:spatial], pads[spatial:]))

    def torch(torch: Any, t: Any) -> Any:
        name = f"conv_transpose{spatial}d" if conv.transposed else f"conv{spatial}d"
        more = {"output_padding": conv.output_padding} if conv.transposed else {}
        return getattr(torch.nn.functional, name)(
            t["x"],
            t["w"],
            t["b"],
            stride=conv.stride,
            padding=pads[:spatial],
            dilation=conv.dilation,
            groups=conv.groups,
            **more,
        )

    name = f"{prefix} {conv}".strip()
    operations = None
    if conv.transposed:  # each element of the data times each tap, for each channel of the result
        operations = 2.0 * conv.channels * math.prod(conv.extents) * conv.outs / conv.groups * math.prod(conv.taps)
    return Case(name, model_of([made], inputs, weights), inputs, weights, torch if even else None, operations, count)


def networks(nets: list[str]) -> list[Case]:
    """Those of the networks named, each shape once; "all" names them all."""
    rows = [line.split() for line in SHAPES.read_text().splitlines() if not line.startswith("#")]
    known = list(dict.fromkeys(row[0] for row in rows))
    for net in nets:
        if net not in known and net != "all":
            raise SystemExit(f"no network {net!r}; there are {', '.join(known)} and all")
    out = {}
    for net, *numbers in rows:
        if net not in (nets or USUAL) and "all" not in nets:
            continue
        count, channels, height, width, outs, kh, kw, stride, pad_h, pad_w, groups = map(int, numbers)
        conv = Conv(channels, (height, width), outs, (kh, kw), stride, (pad_h, pad_w) * 2, groups=groups)
        out.setdefault(conv, case_of(conv, net, count))
    return list(out.values())


def _cases(convs: list[Conv]) -> list[Case]:
    return [case_of(conv) for conv in convs]


def two_dimensions(_nets: list[str]) -> list[Case]:
    """Dilated, strided, unevenly padded, of few and of odd channels."""
    return _cases(
        [
            Conv(256, (28, 28), 256, (3, 3), pads=2, dilation=2),
            Conv(512, (28, 28), 256, (3, 3), pads=6, dilation=6),
            Conv(64, (56, 56), 128, (3, 3), 2, (0, 0, 1, 1)),
            Conv(96, (28, 28), 96, (5, 5), 2, 2),
            Conv(192, (17, 17), 192, (1, 7), pads=(0, 3, 0, 3)),
            Conv(96, (56, 56), 96, (7, 7), pads=3, groups=96),
            Conv(192, (28, 28), 192, (5, 5), 2, 2, groups=192),
            Conv(256, (13, 13), 255, (1, 1)),
            Conv(256, (28, 28), 21, (1, 1)),
            Conv(64, (112, 112), 3, (3, 3), pads=1),
            Conv(64, (56, 56), 1, (1, 1)),
            Conv(3, (224, 224), 16, (3, 3), 2, 1),
            Conv(3, (224, 224), 96, (4, 4), 4),
        ]
    )


def grouped(_nets: list[str]) -> list[Case]:
    """Of resnext50_32x4d, resnext101_64x4d, regnet_y_400mf and shufflenet."""
    return _cases(
        [
            Conv(128, (56, 56), 128, (3, 3), 1, 1, groups=32),
            Conv(256, (28, 28), 256, (3, 3), 1, 1, groups=32),
            Conv(256, (56, 56), 256, (3, 3), 2, 1, groups=32),
            Conv(512, (14, 14), 512, (3, 3), 1, 1, groups=32),
            Conv(1024, (7, 7), 1024, (3, 3), 1, 1, groups=32),
            Conv(256, (56, 56), 256, (3, 3), 1, 1, groups=64),
            Conv(104, (28, 28), 104, (3, 3), 1, 1, groups=13),
            Conv(440, (7, 7), 440, (3, 3), 1, 1, groups=55),
            Conv(240, (28, 28), 60, (1, 1), groups=3),
            Conv(240, (28, 28), 240, (1, 1), groups=3),
            Conv(64, (28, 28), 128, (3, 3), 1, 1, groups=2),
        ]
    )


def one_dimension(_nets: list[str]) -> list[Case]:
    """Of wav2vec, whisper and temporal convolutional networks."""
    return _cases(
        [
            Conv(1, (16000,), 512, (10,), 5),
            Conv(512, (3199,), 512, (3,), 2),
            Conv(512, (799,), 512, (2,), 2),
            Conv(80, (3000,), 384, (3,), 1, 1),
            Conv(384, (3000,), 384, (3,), 2, 1),
            Conv(64, (1024,), 64, (3,), 1, (8, 0), 4),
            Conv(128, (1024,), 128, (7,), 1, (9, 9), 3),
            Conv(768, (128,), 768, (1,)),
            Conv(256, (1024,), 256, (31,), 1, 15, groups=256),
            Conv(768, (199,), 768, (128,), 1, (64, 63), groups=16),
        ]
    )


def three_dimensions(_nets: list[str]) -> list[Case]:
    """Of r3d_18, i3d, a 3d unet and x3d."""
    return _cases(
        [
            Conv(3, (8, 112, 112), 64, (3, 7, 7), 2, (1, 3, 3, 1, 3, 3)),
            Conv(64, (8, 56, 56), 64, (3, 3, 3), 1, 1),
            Conv(64, (8, 56, 56), 128, (3, 3, 3), 2, 1),
            Conv(128, (4, 28, 28), 128, (3, 3, 3), 1, 1),
            Conv(256, (4, 14, 14), 256, (3, 3, 3), 1, 1),
            Conv(256, (4, 14, 14), 512, (1, 1, 1)),
            Conv(32, (32, 32, 32), 32, (3, 3, 3), 1, 1),
            Conv(32, (16, 32, 32), 32, (3, 3, 3), 1, 2, 2),
            Conv(54, (8, 28, 28), 54, (3, 3, 3), 1, 1, groups=54),
        ]
    )


def transposed(_nets: list[str]) -> list[Case]:
    """Of unet, dcgan, fcn and autoencoders, and of one and three dimensions."""
    up = {"transposed": True}
    return _cases(
        [
            Conv(256, (28, 28), 128, (2, 2), 2, **up),
            Conv(128, (56, 56), 64, (2, 2), 2, **up),
            Conv(512, (4, 4), 256, (4, 4), 2, 1, **up),
            Conv(128, (16, 16), 64, (4, 4), 2, 1, **up),
            Conv(64, (32, 32), 3, (4, 4), 2, 1, **up),
            Conv(128, (28, 28), 64, (3, 3), 2, 1, output_padding=1, **up),
            Conv(64, (28, 28), 64, (3, 3), 1, 1, **up),
            Conv(21, (16, 16), 21, (16, 16), 8, 4, **up),
            Conv(256, (64,), 128, (16,), 8, 4, **up),
            Conv(64, (512,), 32, (4,), 2, 1, **up),
            Conv(64, (8, 14, 14), 32, (2, 2, 2), 2, **up),
            Conv(64, (28, 28), 64, (4, 4), 2, 1, groups=64, **up),
        ]
    )
