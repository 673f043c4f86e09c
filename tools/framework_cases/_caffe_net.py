"""Networks of Caffe, written as a prototxt and a caffemodel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._wire import message


def values(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers from -1 to 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


class Net:
    """Layers one after another. Parameters are text, as a prototxt has them."""

    def __init__(self) -> None:
        self.layers: list[str] = []
        self.weights: list[bytes] = []

    def input(self, name: str, *shape: int) -> str:
        dims = " ".join(f"dim: {extent}" for extent in shape)
        return self.layer("Input", [], name, f"input_param {{ shape {{ {dims} }} }}")

    def layer(self, kind: str, bottoms: Any, tops: Any, parameters: str = "", blobs: Any = (), name: str = "") -> str:
        """Adds a layer; gives the name of its first top."""
        bottoms = [bottoms] if isinstance(bottoms, str) else bottoms
        tops = [tops] if isinstance(tops, str) else tops
        name = name or f"{tops[0]}_{kind}"
        ends = [f'bottom: "{one}"' for one in bottoms] + [f'top: "{one}"' for one in tops]
        self.layers.append(f'layer {{ name: "{name}" type: "{kind}" {" ".join(ends)} {parameters} }}')
        if blobs:
            shapes = [message((1, np.array(blob.shape, "int64"))) for blob in blobs]
            parts = [message((7, shape), (5, blob)) for shape, blob in zip(shapes, blobs, strict=True)]
            self.weights.append(message((1, name), (2, kind), *[(7, part) for part in parts]))
        return str(tops[0])

    def text(self) -> str:
        return "\n".join(['name: "net"', *self.layers]) + "\n"

    def model(self) -> bytes:
        return message((1, "net"), *[(100, layer) for layer in self.weights])
