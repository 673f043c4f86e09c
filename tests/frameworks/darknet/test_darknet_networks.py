"""Whole networks of Darknet against OpenCV's dnn, which reads the same files. Weights are random, of a size that keeps activations in range."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases import difference
from framework_cases._darknet_net import Network
from framework_cases.darknet import boxes, opencv, run

SURE = {"thresh": 0.0001, "nms_threshold": 0}
ANCHORS = "10,14, 23,27, 37,58, 81,82, 135,169, 344,319"


def block(net, filters, size=3, stride=1):
    return net.conv(filters, size, stride, pad=1, batch_normalize=1, activation="leaky")


def pool(net, stride=2):
    channels, height, width = net.shape
    return net.add("maxpool", (channels, -(-height // stride), -(-width // stride)), size=2, stride=stride)


def head(net, mask, **options):
    net.conv(3 * 7, 1, activation="linear")
    return net.add("yolo", mask=mask, anchors=ANCHORS, classes=2, num=6, **SURE, **options)


def upsample(net):
    channels, height, width = net.shape
    return net.add("upsample", (channels, 2 * height, 2 * width), stride=2)


def route(net, *layers, **options):
    shapes = [net.shapes[layer if layer >= 0 else len(net.shapes) + layer] for layer in layers]
    channels = sum(shape[0] for shape in shapes) // int(options.get("groups", 1))
    return net.add("route", (channels, *shapes[0][1:]), layers=",".join(map(str, layers)), **options)


def yolov3_tiny():
    net = Network(3, 96, 64)
    for filters in (8, 16, 16, 32, 32):
        block(net, filters)
        last = len(net.shapes) - 1
        pool(net)
    pool(block(net, 64), stride=1)
    block(block(block(net, 64), 32, 1), 48)
    head(net, "3,4,5")
    block(route(net, -4), 16, 1)
    route(upsample(net), -1, last)
    head(block(net, 32), "0,1,2")
    return net


def yolov4_tiny():
    """Halves of channels, mish, and positions that reach beyond their cell."""
    net = Network(3, 64, 64)
    block(net, 16, stride=2)
    for filters in (16, 32):
        block(net, filters)
        route(net, -1, groups=2, group_id=1)
        block(block(net, filters // 2), filters // 2)
        route(net, -1, -2)
        net.conv(filters, 1, batch_normalize=1, activation="mish")
        route(net, -6, -1)
        pool(net)
    head(block(net, 32), "3,4,5", scale_x_y=1.05)
    return net


def yolov2():
    net = Network(3, 64, 64)
    for filters in (8, 16, 32):
        pool(block(net, filters))
    early = len(net.shapes) - 2
    block(net, 32)
    deep = len(net.shapes) - 1
    block(route(net, early), 8, 1)
    net.add("reorg", (32, 8, 8), stride=2)
    block(route(net, -1, deep), 32)
    net.conv(3 * 8, 1, activation="linear")
    options = {"classes": 3, "num": 3, "coords": 4, "softmax": 1, **SURE}
    return net.add("region", anchors="1,1.2, 2,3, 4,2", **options)


def darknet53():
    """Residual blocks and a classifier."""
    net = Network(3, 64, 64)
    block(net, 8)
    for filters in (16, 32, 64):
        block(net, filters, stride=2)
        block(block(net, filters // 2, 1), filters)
        net.add("shortcut", from_=-3, activation="linear")
    net.add("avgpool", (64, 1, 1)).conv(10, 1, activation="linear")
    return net.add("softmax", (10, 1, 1))


@pytest.mark.parametrize(
    ("build", "kind"), [(yolov3_tiny, "yolo"), (yolov4_tiny, "yolo"), (yolov2, "region"), (darknet53, "")]
)
def test_a_network_gives_what_opencv_gives(build, kind):
    net = build()
    x = np.random.default_rng(1).uniform(0, 1, (1, *Network(*map(int, size_of(net))).shape)).astype("float32")
    got, want = run(net, x), list(reversed(opencv(net, x)))
    if kind:
        got = boxes(got, kind, (x.shape[3], x.shape[2]))
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        other = other.reshape(one.shape)
        if kind == "region":  # of which OpenCV drops scores that overlap better ones
            assert (other[:, 5:] != 0).mean() > 0.3
            one = np.where(other == 0, 0, one).astype("float32")
        assert difference(one, other) < 1e-4


def size_of(net):
    """Channels, height and width of the input."""
    return [line.split("=")[1] for line in net.sections[0].splitlines()[1:4]]
