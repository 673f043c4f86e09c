"""Whole networks of Caffe against OpenCV's dnn, which reads the same files. Weights are random, of a size that keeps activations in range."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from tessera import relay

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases import difference
from framework_cases._caffe_net import Net
from framework_cases.caffe import opencv, run


class Network(Net):
    """Layers with random weights; `channels` of each value are known."""

    def __init__(self, size):
        super().__init__()
        self.random = np.random.default_rng(0)
        self.count = itertools.count()
        self.channels = {}
        self.shape = (1, 3, size, size)
        self.channels[self.input("data", *self.shape)] = 3

    def new(self, channels):
        name = f"v{next(self.count)}"
        self.channels[name] = channels
        return name

    def normal(self, *shape):
        return (self.random.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype("float32")

    def conv(self, x, channels, kernel, rest="", group=1, kind="Convolution"):
        top, own = self.new(channels), self.channels[x]
        ends = (own, channels // group) if kind == "Deconvolution" else (channels, own // group)
        parameters = f"convolution_param {{ num_output: {channels} kernel_size: {kernel} group: {group} {rest} }}"
        bias = (self.random.standard_normal(channels) * 0.1).astype("float32")
        return self.layer(kind, x, top, parameters, [self.normal(*ends, kernel, kernel), bias])

    def relu(self, x):
        return self.layer("ReLU", x, x, name=f"{x}_relu")

    def norm(self, x):
        """A batch norm and its scale, in place."""
        n = self.channels[x]
        mean, variance = self.random.uniform(-0.1, 0.1, n), self.random.uniform(0.5, 1.5, n)
        blobs = [mean.astype("float32") * 3, variance.astype("float32") * 3, np.float32([3])]
        self.layer("BatchNorm", x, x, "batch_norm_param { use_global_stats: true }", blobs, name=f"{x}_norm")
        scale, bias = self.random.uniform(0.5, 1, n), self.random.uniform(-0.1, 0.1, n)
        blobs = [scale.astype("float32"), bias.astype("float32")]
        return self.layer("Scale", x, x, "scale_param { bias_term: true }", blobs, name=f"{x}_scale")

    def pool(self, x, parameters):
        return self.layer("Pooling", x, self.new(self.channels[x]), f"pooling_param {{ {parameters} }}")

    def dense(self, x, inputs, outputs):
        blobs = [self.normal(outputs, inputs), np.zeros(outputs, "float32")]
        parameters = f"inner_product_param {{ num_output: {outputs} }}"
        return self.layer("InnerProduct", x, self.new(outputs), parameters, blobs)

    def join(self, kind, values, channels, parameters=""):
        return self.layer(kind, values, self.new(channels), parameters)


def alexnet():
    net = Network(67)
    lrn = "lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 }"
    x = net.relu(net.conv("data", 24, 11, "stride: 4"))
    x = net.pool(net.layer("LRN", x, net.new(24), lrn), "pool: MAX kernel_size: 3 stride: 2")
    x = net.relu(net.conv(x, 32, 5, "pad: 2", group=2))
    x = net.pool(net.layer("LRN", x, net.new(32), lrn), "pool: MAX kernel_size: 3 stride: 2")
    x = net.relu(net.conv(x, 48, 3, "pad: 1"))
    x = net.pool(net.relu(net.conv(x, 32, 3, "pad: 1", group=2)), "pool: MAX kernel_size: 3 stride: 2")
    x = net.relu(net.dense(x, 32, 64))
    x = net.layer("Dropout", x, x, "dropout_param { dropout_ratio: 0.5 }", name="drop")
    return net, net.layer("Softmax", net.dense(x, 64, 10), "prob", name="prob")


def resnet():
    net = Network(32)
    x = net.relu(net.norm(net.conv("data", 16, 7, "pad: 3 stride: 2 bias_term: true")))
    x = net.pool(x, "pool: MAX kernel_size: 3 stride: 2")
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        skip = x if stride == 1 else net.norm(net.conv(x, channels, 1, f"stride: {stride}"))
        y = net.relu(net.norm(net.conv(x, channels, 3, f"pad: 1 stride: {stride}")))
        y = net.norm(net.conv(y, channels, 3, "pad: 1"))
        x = net.relu(net.join("Eltwise", [skip, y], channels))
    x = net.pool(x, "pool: AVE global_pooling: true")
    return net, net.layer("Softmax", net.dense(x, 64, 10), "prob", name="prob")


def mobilenet_with_pyramid():
    """Depthwise convolutions, fire modules, and a fully convolutional head with a crop."""
    net = Network(33)
    x = net.relu(net.conv("data", 8, 3, "pad: 1 stride: 2"))
    x = net.relu(net.norm(net.conv(x, 8, 3, "pad: 1", group=8)))
    low = x = net.relu(net.conv(x, 16, 1))
    x = net.relu(net.norm(net.conv(x, 16, 3, "pad: 1 stride: 2", group=16)))
    squeezed = net.relu(net.conv(x, 8, 1))
    wide = [net.relu(net.conv(squeezed, 16, 1)), net.relu(net.conv(squeezed, 16, 3, "pad: 1"))]
    x = net.join("Concat", wide, 32)
    x = net.conv(x, 16, 4, "stride: 2 bias_term: true", kind="Deconvolution")
    x = net.join("Crop", [x, low], 16, "crop_param { axis: 2 offset: 1 }")
    x = net.join("Eltwise", [x, low], 16, "eltwise_param { operation: SUM coeff: 0.5 coeff: 1 }")
    x = net.layer("PReLU", x, net.new(16), "", [np.full(16, 0.2, "float32")])
    x = net.layer("Permute", x, net.new(16), "permute_param { order: [0, 2, 3, 1] }")
    x = net.layer("Reshape", x, net.new(16), "reshape_param { shape { dim: [0, -1, 16] } }")
    return net, net.layer("Softmax", x, "prob", "softmax_param { axis: 2 }", name="prob")


@pytest.mark.parametrize("build", [alexnet, resnet, mobilenet_with_pyramid])
def test_a_network_gives_what_opencv_gives(build):
    net, out = build()
    x = np.random.default_rng(1).standard_normal(net.shape).astype("float32")
    (want,) = opencv(net, {"data": x}, [out])
    (got,) = run(net, x)
    assert difference(got, want) < 1e-4


def test_a_large_network_is_imported_quickly(tmp_path):
    """100 MB of weights."""
    import time

    net = Net()
    x = net.input("data", 1, 1000)
    for i in range(25):
        x = net.layer(
            "InnerProduct",
            x,
            f"d{i}",
            "inner_product_param { num_output: 1000 bias_term: false }",
            [np.eye(1000, dtype="float32")],
        )
    (tmp_path / "net.prototxt").write_text(net.text())
    (tmp_path / "net.caffemodel").write_bytes(net.model())
    start = time.perf_counter()
    relay.frontend.from_caffe(tmp_path / "net.prototxt")
    assert time.perf_counter() - start < 2
