"""Networks of Darknet, written as a cfg and a file of weights."""

from __future__ import annotations

import struct

import numpy as np

from ._caffe_net import values


class Network:
    """Sections one after another; `shape` (channels, rows, columns) follows them, so that weights can be made."""

    def __init__(self, channels: int = 3, height: int = 8, width: int = 8, seed: int = 0) -> None:
        self.sections = [f"[net]\nchannels={channels}\nheight={height}\nwidth={width}\n"]
        self.shape = (channels, height, width)
        self.shapes: list[tuple[int, int, int]] = []
        self.weights: list[np.ndarray] = []
        self.seed = seed

    def _new(self, *shape: int, scale: float = 1.0, middle: float = 0.0) -> np.ndarray:
        self.seed += 1
        self.weights.append((values(*shape, seed=self.seed) * scale + middle).astype("float32"))
        return self.weights[-1]

    def add(self, kind: str, shape: tuple[int, int, int] | None = None, **options: object) -> Network:
        """A section that makes images of this shape; by default of that of the layer before."""
        lines = [f"{name.rstrip('_')}={value}" for name, value in options.items()]
        self.sections.append("\n".join([f"[{kind}]", *lines, ""]))
        self.shape = shape or self.shape
        self.shapes.append(self.shape)
        return self

    def _norm(self, count: int) -> None:
        self._new(count, scale=0.25, middle=0.75)
        self._new(count, scale=0.1)
        self._new(count, scale=0.25, middle=1.0)

    def conv(self, filters: int, size: int, stride: int = 1, **options: object) -> Network:
        channels, height, width = self.shape
        groups, pad = int(str(options.get("groups", 1))), size // 2 if options.get("pad") else 0
        self._new(filters, scale=0.1)
        if options.get("batch_normalize"):
            self._norm(filters)
        fan_in = channels // groups * size * size
        self._new(filters, channels // groups, size, size, scale=float(np.sqrt(6 / fan_in)))
        shape = filters, (height + 2 * pad - size) // stride + 1, (width + 2 * pad - size) // stride + 1
        return self.add("convolutional", shape, filters=filters, size=size, stride=stride, **options)

    def dense(self, outputs: int, **options: object) -> Network:
        inputs = int(np.prod(self.shape))
        self._new(outputs, scale=0.1)
        self._new(outputs, inputs, scale=float(np.sqrt(3 / inputs)))
        if options.get("batch_normalize"):
            self._norm(outputs)
        return self.add("connected", (outputs, 1, 1), output=outputs, **options)

    def text(self) -> str:
        return "\n".join(self.sections)

    def model(self) -> bytes:
        return struct.pack("<iiiq", 0, 2, 5, 0) + b"".join(one.tobytes() for one in self.weights)
