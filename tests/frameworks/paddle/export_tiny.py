#!/usr/bin/env python
"""Writes the small files of tests/frameworks/tiny_paddle, with inputs and Paddle's answers beside them.

    .venv-paddle/bin/python tests/frameworks/paddle/export_tiny.py

Each model NAME is NAME.json (PIR) or NAME.pdmodel (ProgramDesc), NAME.pdiparams, and NAME.npz with `in.NAME` and `out.I`. Paddle 3
writes PIR; those whose names end in _2 are written by Paddle 2 (paddlepaddle==2.6.2, numpy<2), in an environment of its own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

FOLDER = Path(__file__).resolve().parents[1] / "tiny_paddle"
END = "_2" if paddle.__version__.startswith("2.") else ""


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


class Network(nn.Layer):
    """Convolutions, a norm, pools."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2D(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2D(8)
        self.by_channel = nn.Conv2D(8, 8, 3, stride=2, padding=1, groups=8, bias_attr=False)
        self.linear = nn.Linear(8, 5)

    def forward(self, image: paddle.Tensor) -> paddle.Tensor:
        x = F.relu(self.norm(self.convolution(image)))
        x = F.hardswish(F.max_pool2d(self.by_channel(x), 2))
        return F.softmax(self.linear(F.adaptive_avg_pool2d(x, 1).flatten(1)))


class Encoder(nn.Layer):
    """A transformer's layer behind an LSTM, for any number of words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.recurrent = nn.LSTM(8, 4, direction="bidirect")
        self.attention = nn.TransformerEncoderLayer(8, 2, 16)

    def forward(self, words: paddle.Tensor) -> paddle.Tensor:
        return self.attention(self.recurrent(self.words(words))[0])


class Control(nn.Layer):
    """A branch and a loop that a run decides on."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: paddle.Tensor, count: paddle.Tensor) -> paddle.Tensor:
        y = self.linear(x)
        if y.sum() > 0:  # noqa: SIM108 (Paddle traces statements)
            y = y + 1
        else:
            y = y * 2
        i = paddle.zeros([1], "int64")
        while i < count:
            y = y * 1.5
            i += 1
        return y


def without_paths(path: Path) -> None:
    """Leaves out where each operator was called, which says where this machine has its files."""
    paddle.enable_static()
    program = paddle.static.Program.parse_from_string(path.read_bytes())
    for block in program.blocks:
        for op in block.ops:
            op.desc.remove_attr("op_callstack")
    path.write_bytes(program.desc.serialize_to_string())
    paddle.disable_static()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    paddle.seed(0)
    spec = paddle.static.InputSpec
    words = np.random.RandomState(1).randint(0, 20, (2, 7)).astype("int64")
    control = [spec([2, 4], "float32", "x"), spec([1], "int64", "count")]
    models = {
        "network": (Network(), [spec([None, 3, 12, 12], "float32", "image")], [numbers(2, 3, 12, 12)]),
        "encoder": (Encoder(), [spec([None, None], "int64", "words")], [words]),
        "control": (Control(), control, [numbers(2, 4), np.array([3], "int64")]),
    }
    for name, (layer, specs, inputs) in models.items():
        layer.eval()
        want = layer(*[paddle.to_tensor(x) for x in inputs]).numpy()
        path = FOLDER / (name + END)
        paddle.jit.save(layer, str(path), input_spec=specs)
        path.with_suffix(".pdiparams.info").unlink(missing_ok=True)
        if END:
            without_paths(path.with_suffix(".pdmodel"))
        named = {f"in.{one.name}": value for one, value in zip(specs, inputs)}
        np.savez(path.with_suffix(".npz"), **named, **{"out.0": want})


if __name__ == "__main__":
    main()
