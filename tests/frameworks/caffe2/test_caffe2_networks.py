"""Whole networks of Caffe2, written by hand, against the same network in NumPy."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases import difference
from framework_cases._caffe2_net import fill, net, operator
from framework_cases.caffe2 import average_pool, conv, max_pool, run, softmax


class Network:
    """Operators, and what NumPy makes of them, one after another."""

    def __init__(self, x):
        self.random = np.random.default_rng(0)
        self.operators, self.fills = [], []
        self.values = {"data": x}

    def weight(self, *shape, middle=0.0, scale=1.0):
        name = f"w{len(self.fills)}"
        self.values[name] = (middle + scale * self.random.standard_normal(shape)).astype("float32")
        self.fills.append(fill(name, self.values[name]))
        return name

    def add(self, kind, inputs, function, out="", **arguments):
        out = out or f"v{len(self.operators)}"
        self.operators.append(operator(kind, inputs, out, **arguments))
        self.values[out] = function(*[self.values[name] for name in inputs]).astype("float32")
        return out

    def conv(self, x, filters, size, stride=1):
        channels, pad = self.values[x].shape[1], size // 2
        w = self.weight(filters, channels, size, size, scale=np.sqrt(2 / (channels * size * size)))
        by_hand = lambda x, w, b: conv(x, w, b, (stride, stride), (pad,) * 4)
        return self.add("Conv", [x, w, self.weight(filters, scale=0.1)], by_hand, kernel=size, stride=stride, pad=pad)

    def relu(self, x):
        return self.add("Relu", [x], lambda x: np.maximum(x, 0), out=x)

    def norm(self, x):
        channels = self.values[x].shape[1]
        parts = [self.weight(channels, middle=middle, scale=0.1) for middle in (1.0, 0.0, 0.0, 1.0)]

        def by_hand(x, *parts):
            gamma, beta, mean, variance = (part[:, None, None] for part in parts)
            return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta

        return self.add("SpatialBN", [x, *parts], by_hand, is_test=1, epsilon=1e-5)

    def classifier(self, x, classes):
        pooled = self.add("AveragePool", [x], lambda x: x.mean((2, 3), keepdims=True), global_pooling=1)
        channels = self.values[x].shape[1]
        w, b = self.weight(classes, channels, scale=channels**-0.5), self.weight(classes)
        scores = self.add("FC", [pooled, w, b], lambda x, w, b: x.reshape(len(x), -1) @ w.T + b)
        return self.add("Softmax", [scores], softmax, out="prob")


def squeezenet(n):
    x = n.add(
        "MaxPool",
        [n.relu(n.conv("data", 16, 3, 2))],
        lambda x: max_pool(x, (3, 3), (2, 2), (0,) * 4),
        kernel=3,
        stride=2,
    )
    for squeezed, wide in ((4, 8), (8, 16)):
        x = n.relu(n.conv(x, squeezed, 1))
        sides = [n.relu(n.conv(x, wide, 1)), n.relu(n.conv(x, wide, 3))]
        x = n.add("Concat", sides, lambda a, b: np.concatenate([a, b], 1), axis=1)
    x = n.add("Dropout", [x], lambda x: x, is_test=1)
    return n.classifier(x, 10)


def resnet(n):
    x = n.relu(n.norm(n.conv("data", 8, 3)))
    x = n.add("AveragePool", [x], lambda x: average_pool(x, (2, 2), (2, 2), (0,) * 4), kernel=2, stride=2)
    for channels in (8, 16):
        stride = channels // 8
        skip = x if stride == 1 else n.norm(n.conv(x, channels, 1, stride))
        y = n.norm(n.conv(n.relu(n.norm(n.conv(x, channels, 3, stride))), channels, 3))
        x = n.relu(n.add("Sum", [skip, y], np.add))
    return n.classifier(x, 10)


@pytest.mark.parametrize("build", [squeezenet, resnet])
def test_a_network_gives_what_numpy_gives(build):
    x = np.random.default_rng(1).standard_normal((1, 3, 33, 33)).astype("float32")
    network = Network(x)
    out = build(network)
    weights = [name for name in network.values if name.startswith("w")]
    predict = net(network.operators, ["data", *weights], [out])
    (got,) = run(net(network.fills), predict, {"data": x})
    assert difference(got, network.values[out]) < 1e-4
