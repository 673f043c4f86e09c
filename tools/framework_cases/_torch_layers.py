"""Layers: contractions, convolutions, pools, normalization, recurrent layers, resizing, losses, torchvision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torchvision

from . import Case
from ._torch_model import floats, ints, scripted, traced

nn, F, ops = torch.nn, torch.nn.functional, torch.ops.aten


def seeded(module: Any) -> Any:
    """The module with weights and statistics of a fixed seed."""
    generator = torch.Generator().manual_seed(0)
    for name, value in module.state_dict().items():
        if value.dtype.is_floating_point:
            value.copy_(
                torch.rand(value.shape, generator=generator) * 0.8 - (0 if "running_var" in name else 0.4) + 0.05
            )
    return module


def contractions() -> Iterator[Case]:
    a, b = floats(3, 4), floats(4, 5, seed=1)
    yield traced("mm", torch.mm, a, b)
    yield traced("bmm", torch.bmm, floats(2, 3, 4), floats(2, 4, 5, seed=1))
    operands: dict[str, list[tuple[int, ...]]] = {
        "2 by 2": [(3, 4), (4, 5)],
        "1 by 1": [(4,), (4,)],
        "1 by 3": [(4,), (2, 4, 5)],
        "3 by 1": [(2, 3, 4), (4,)],
        "4 by 3": [(2, 1, 3, 4), (6, 4, 5)],
        "3 by 2": [(2, 3, 4), (4, 5)],
    }
    for name, shapes in operands.items():
        yield traced("matmul", torch.matmul, *(floats(*shape, seed=i) for i, shape in enumerate(shapes)), name=name)
    yield traced("mv", torch.mv, a, floats(4))
    yield traced("dot", torch.dot, floats(9), floats(9, seed=1))
    yield traced("dot", torch.dot, ints(9), ints(9, seed=1), name="int64")
    yield traced("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), floats(5), a, b)
    yield traced("linear", seeded(nn.Linear(4, 5)), floats(2, 3, 4))
    yield traced("linear", seeded(nn.Linear(4, 5, bias=False)), floats(4), name="one row")
    equations: dict[str, list[tuple[int, ...]]] = {
        "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
        "ij->ji": [(3, 4)],
        "ii->i": [(3, 3)],
        "bhqd,bhkd->bhqk": [(1, 2, 3, 4), (1, 2, 5, 4)],
        "...i,i": [(2, 3, 4), (4,)],
        "ij,kl->ijkl": [(2, 3), (2, 2)],
    }
    for equation, shapes in equations.items():
        yield traced(
            "einsum",
            lambda *x, e=equation: torch.einsum(e, *x),
            *(floats(*shape, seed=i) for i, shape in enumerate(shapes)),
            name=equation,
        )


def convolutions() -> Iterator[Case]:
    for dims, shape in ((1, (2, 6, 20)), (2, (2, 6, 12, 11)), (3, (1, 6, 7, 6, 5))):
        conv = getattr(nn, f"Conv{dims}d")
        back = getattr(nn, f"ConvTranspose{dims}d")
        yield traced("_convolution", seeded(conv(6, 8, 3, stride=2, padding=1)), floats(*shape), name=f"{dims}d")
        yield traced(
            "_convolution",
            seeded(conv(6, 12, 3, padding=2, dilation=2, groups=3)),
            floats(*shape),
            name=f"{dims}d, groups",
        )
        yield traced(
            "_convolution",
            seeded(back(6, 4, 3, stride=2, padding=1, output_padding=1)),
            floats(*shape),
            name=f"{dims}d, transposed",
        )
    yield traced(
        "_convolution",
        seeded(nn.ConvTranspose2d(6, 4, 3, groups=2, dilation=2, bias=False)),
        floats(1, 6, 5, 6),
        name="transposed, groups",
    )
    yield traced("_convolution", seeded(nn.Conv2d(6, 6, 3, groups=6, padding=1)), floats(1, 6, 8, 9), name="depthwise")
    yield traced("_convolution", seeded(nn.Conv2d(6, 6, 3)), floats(6, 8, 9), name="no batch")


def pools() -> Iterator[Case]:
    shapes = {1: (2, 3, 17), 2: (2, 3, 12, 13), 3: (1, 2, 7, 8, 9)}
    for dims, shape in shapes.items():
        x = floats(*shape)
        for kind in ("max", "avg"):
            name = f"{kind}_pool{dims}d"
            function = getattr(F, name)
            yield traced(name, lambda x, f=function: f(x, 3, 2, 1), x)
            yield traced(name, lambda x, f=function: f(x, 3, 2, ceil_mode=True), x, name="ceil_mode")
            yield traced(
                name,
                lambda x, f=function, k=kind: f(x, 3, 1, 1, 2) if k == "max" else f(x, 3, 2, 1, True, False),
                x,
                name="dilation" if kind == "max" else "without padding",
            )
            adaptive = getattr(F, f"adaptive_{name}")
            for size in (1, 4):
                yield traced(f"adaptive_{name}", lambda x, f=adaptive, n=size: f(x, n), x, name=str(size))
    yield traced("avg_pool2d", lambda x: F.avg_pool2d(x, 2, divisor_override=3), floats(1, 2, 6, 6), name="divisor")
    yield traced(
        "max_pool2d_with_indices", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), floats(2, 3, 12, 13)
    )


def normalizations() -> Iterator[Case]:
    x = floats(2, 6, 5, 4)
    yield traced("batch_norm", seeded(nn.BatchNorm2d(6)), x)
    yield traced("batch_norm", seeded(nn.BatchNorm1d(6, affine=False)), floats(3, 6), name="without weights")
    yield traced("instance_norm", seeded(nn.InstanceNorm2d(6, affine=True)), x)
    yield traced(
        "instance_norm",
        seeded(nn.InstanceNorm2d(6, affine=True, track_running_stats=True)),
        x,
        name="running statistics",
    )
    yield traced("layer_norm", seeded(nn.LayerNorm([5, 4])), x)
    yield traced("layer_norm", lambda x: F.layer_norm(x, [4]), x, name="without weights")
    yield traced("group_norm", seeded(nn.GroupNorm(3, 6)), x)


def recurrent() -> Iterator[Case]:
    x = floats(5, 2, 4)
    for name, kind, more in (
        ("lstm", nn.LSTM, {}),
        ("gru", nn.GRU, {}),
        ("rnn_tanh", nn.RNN, {}),
        ("rnn_relu", nn.RNN, {"nonlinearity": "relu"}),
    ):
        states = 2 if name == "lstm" else 1
        yield traced(name, seeded(kind(4, 3, **more)), x)
        yield traced(
            name,
            seeded(kind(4, 3, num_layers=2, bidirectional=True, batch_first=True, **more)),
            x,
            name="two layers, both ways",
        )
        yield traced(name, seeded(kind(4, 3, bias=False, **more)), x, name="no bias")
        model, h = seeded(kind(4, 3, **more)), [floats(1, 2, 3, seed=i) for i in range(states)]
        yield traced(name, lambda x, h, c=None, m=model: m(x, h if c is None else (h, c)), x, *h, name="initial state")
    yield traced("lstm", seeded(nn.LSTM(4, 3, proj_size=2)), x, name="projection")


def resized() -> Iterator[Case]:
    x, volume = floats(1, 2, 5, 6), floats(1, 2, 4, 5, 3)
    for mode in ("nearest", "bilinear", "bicubic"):
        name = f"upsample_{mode}2d"
        yield traced(name, lambda x, m=mode: F.interpolate(x, size=(9, 8), mode=m), x)
        yield traced(name, lambda x, m=mode: F.interpolate(x, scale_factor=1.7, mode=m), x, name="scale")
        yield traced(
            name,
            lambda x, m=mode: F.interpolate(x, scale_factor=1.7, mode=m, recompute_scale_factor=True),
            x,
            name="scale recomputed",
        )
        if mode != "nearest":
            yield traced(
                name, lambda x, m=mode: F.interpolate(x, size=(9, 8), mode=m, align_corners=True), x, name="corners"
            )
    yield traced("upsample_nearest3d", lambda x: F.interpolate(x, scale_factor=2), volume)
    for corners in (False, True):
        yield traced(
            "upsample_trilinear3d",
            lambda x, c=corners: F.interpolate(x, size=(6, 7, 8), mode="trilinear", align_corners=c),
            volume,
            name=f"corners={corners}",
        )
    yield scripted("__interpolate", "x):\n  return torch.ops.aten.__interpolate(x, [8, 9], None, 'bilinear', False)", x)
    grid = floats(1, 3, 4, 2, low=-1.2, high=1.2)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            yield traced(
                "grid_sampler",
                lambda x, g, m=mode, p=padding: F.grid_sample(x, g, m, p, align_corners=False),
                x,
                grid,
                name=f"{mode} {padding}",
            )
    yield traced(
        "grid_sampler",
        lambda x, g: F.grid_sample(x, g, align_corners=True),
        volume,
        floats(1, 2, 3, 4, 3, low=-1, high=1),
        name="volume",
    )


def losses() -> Iterator[Case]:
    x, labels = floats(5, 4), ints(5, low=0, high=4)
    weight = torch.tensor([0.5, 1, 2, 3])
    for reduction in ("mean", "sum", "none"):
        for name in ("l1_loss", "mse_loss"):
            yield traced(
                name,
                lambda a, b, n=name, r=reduction: getattr(F, n)(a, b, reduction=r),
                x,
                floats(5, 4, seed=1),
                name=reduction,
            )
        yield traced(
            "cross_entropy_loss",
            lambda a, b, r=reduction: F.cross_entropy(a, b, weight, ignore_index=2, reduction=r),
            x,
            labels,
            name=reduction,
        )
    yield traced(
        "cross_entropy_loss",
        lambda a, b: F.cross_entropy(a, b.softmax(1), label_smoothing=0.1),
        x,
        floats(5, 4, seed=1),
        name="probabilities",
    )
    yield traced(
        "cross_entropy_loss", lambda a, b: F.cross_entropy(a, b, label_smoothing=0.1), x, labels, name="smoothing"
    )
    yield traced("nll_loss", lambda a, b: ops.nll_loss(a, b, weight, 1, -100), x, labels)
    image, classes = floats(2, 4, 3, 5), ints(2, 3, 5, low=0, high=4)
    yield traced("nll_loss2d", lambda a, b: ops.nll_loss2d(a, b, weight, 1, 1), image, classes)
    yield traced("nll_loss_nd", lambda a, b: F.nll_loss(a, b, ignore_index=1), image, classes)
    yield traced("nll_loss_nd", lambda a, b: F.nll_loss(a, b, reduction="none"), x, labels, name="none")


def signals() -> Iterator[Case]:
    window = torch.hann_window(16)
    yield traced(
        "stft", lambda x: torch.view_as_real(torch.stft(x, 16, 4, window=window, return_complex=True)), floats(2, 64)
    )
    yield scripted(
        "stft",
        "x, w):\n  return torch.stft(x, 16, 5, 16, w, center=False, normalized=True, onesided=False, return_complex=False)",
        floats(2, 64),
        window,
        name="real",
    )


def vision() -> Iterator[Case]:
    generator = torch.Generator().manual_seed(0)
    boxes = torch.rand(30, 4, generator=generator) * 8
    boxes[:, 2:] = boxes[:, :2] + 1 + boxes[:, 2:]
    scores = torch.randperm(30, generator=generator) / 30
    yield traced("torchvision::nms", lambda b, s: torchvision.ops.nms(b, s, 0.3), boxes, scores)
    rois = torch.cat([torch.tensor([[0.0], [1], [1]]), boxes[:3]], 1)
    for aligned in (False, True):
        for ratio in (2, -1):
            yield traced(
                "torchvision::roi_align",
                lambda x, r, a=aligned, s=ratio: torchvision.ops.roi_align(x, r, (3, 4), 0.7, s, a),
                floats(2, 3, 16, 18),
                rois,
                name=f"aligned={aligned}, ratio={ratio}",
            )
    conv = seeded(torchvision.ops.DeformConv2d(4, 6, 3, padding=1, groups=2))
    yield traced(
        "torchvision::deform_conv2d",
        lambda x, o, m: conv(x, o, m),
        floats(2, 4, 7, 8),
        floats(2, 18, 7, 8, seed=1),
        floats(2, 9, 7, 8, low=0, high=1),
    )
    yield traced(
        "torchvision::deform_conv2d",
        lambda x, o: conv(x, o),
        floats(2, 4, 7, 8),
        floats(2, 18, 7, 8, seed=1),
        name="no mask",
    )


def cases() -> Iterator[Case]:
    """All of this file."""
    for family in (contractions, convolutions, pools, normalizations, recurrent, resized, losses, signals, vision):
        yield from family()
