"""Models of PaddlePaddle with seeded weights, and what both sides answer."""

from __future__ import annotations

import numpy as np
import paddle
from paddle import nn
from tessera import relay


def prepared(layer: nn.Layer, *inputs: np.ndarray, seed: int = 0) -> nn.Layer:
    """The layer with weights of a seed and statistics of batch norms from a pass, so that activations stay in range."""
    generator = np.random.RandomState(seed)
    for name, value in layer.named_parameters():
        shape, scale = list(value.shape), 1.0
        if len(shape) > 1:
            scale = 1.4 / np.sqrt(max(np.prod(shape[1:]) if len(shape) > 2 else shape[0], 1))
            value.set_value((generator.randn(*shape) * scale).astype("float32"))
        else:
            near = 1.0 if name.endswith("weight") else 0.0
            value.set_value((near + 0.1 * generator.randn(*shape)).astype("float32"))
    norms = [one for one in layer.sublayers() if isinstance(one, (nn.layer.norm._BatchNormBase, nn.BatchNorm))]
    for norm in norms:
        norm._momentum = 0.0
    layer.eval()
    for norm in norms:
        norm.train()
    with paddle.no_grad():
        layer(*[paddle.to_tensor(x) for x in inputs])
    layer.eval()
    return layer


def expected(layer: nn.Layer, *inputs: np.ndarray) -> list[np.ndarray]:
    """What Paddle answers."""
    with paddle.no_grad():
        out = layer(*[paddle.to_tensor(x) for x in inputs])
    return [np.asarray(one) for one in (out if isinstance(out, (list, tuple)) else [out])]


def answers(mod: object, params: dict[str, object], *inputs: np.ndarray) -> list[np.ndarray]:
    """What Tessera answers."""
    out = relay.create_executor("vm", mod).evaluate()(*inputs, **params)
    return [out.numpy()] if hasattr(out, "numpy") else [one.numpy() for one in out]


def largest_difference(got: list[np.ndarray], want: list[np.ndarray]) -> float:
    """The greatest difference of all outputs, relative to the largest value of each."""
    assert [x.shape for x in got] == [x.shape for x in want]
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(got, want, strict=True))
