"""Layers of Darknet, each in a network of its own, against OpenCV, which reads the same files; see `framework_cases`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import Case, Pairs
from ._caffe_net import values
from ._darknet_net import Network

TITLE = "Darknet"
ORACLE = "OpenCV 4.13.0's dnn, boxes of YOLO and REGION decoded as it does; SOFTMAX, L2NORM, REORG and SHORTCUT of other sizes by NumPy"
OPERATORS = [
    "CONVOLUTIONAL",
    "CONNECTED",
    "MAXPOOL",
    "SOFTMAX",
    "DROPOUT",
    "AVGPOOL",
    "ROUTE",
    "REORG",
    "REGION",
    "SHORTCUT",
    "UPSAMPLE",
    "L2NORM",
    "YOLO",
]


def run(net: Network, x: np.ndarray) -> list[np.ndarray]:
    """What Tessera answers."""
    from tessera import relay

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "net.cfg").write_text(net.text())
        (Path(folder) / "net.weights").write_bytes(net.model())
        mod, params = relay.frontend.from_darknet(Path(folder) / "net.cfg", x.shape)
    out = relay.create_executor("graph", mod).evaluate()(x, **params)
    return [out.numpy()] if hasattr(out, "numpy") else [one.numpy() for one in out]


def opencv(net: Network, x: np.ndarray) -> list[np.ndarray]:
    """What OpenCV answers: the outputs of all layers that nothing reads."""
    import cv2

    read = cv2.dnn.readNetFromDarknet(
        np.frombuffer(net.text().encode(), np.uint8), np.frombuffer(net.model(), np.uint8)
    )
    read.setInput(x)
    return [np.asarray(one) for one in read.forward(read.getUnconnectedOutLayersNames())]


def boxes(outputs: list[np.ndarray], kind: str, size: tuple[int, int]) -> list[np.ndarray]:
    """Outputs of a network, as boxes (x, y, width, height, object, classes...) in fractions of its input, as OpenCV orders them."""
    out = []
    while outputs:
        raw, *rest = outputs
        mask = rest.pop(0) if kind == "yolo" else None
        biases, numbers, *outputs = rest
        count, _, height, width = numbers[:4]
        x = raw.reshape(count, -1, height, width).transpose(2, 3, 0, 1)  # rows, columns, anchors, numbers
        anchors = biases.reshape(-1, 2)[mask if mask is not None else slice(None)]
        scale = np.array(size if kind == "yolo" else (width, height), "float32")
        grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1)[:, :, None]
        position = (x[..., :2] + grid) / [width, height]
        extent = np.exp(x[..., 2:4]) * anchors / scale
        classes = x[..., 5:] * x[..., 4:5]
        out.append(
            np.concatenate([position, extent, x[..., 4:5], classes], -1).reshape(-1, x.shape[-1]).astype("float32")
        )
    return out


def _case(
    kind: str,
    build: Callable[[Network], Any],
    expected: Callable[[np.ndarray], Any] | None = None,
    name: str = "",
    **network: int,
) -> Case:
    def check() -> Pairs:
        net = Network(**network)
        x = values(1, *net.shape, seed=50)
        build(net)
        got = run(net, x)
        want = [np.asarray(expected(x), "float32")] if expected else opencv(net, x)
        return [(got[0], want[-1].reshape(got[0].shape))]

    return Case(kind.upper(), f"{kind} {name} {network}", check)


def _box_case(kind: str, build: Callable[[Network], Any]) -> Case:
    def check() -> Pairs:
        net = Network(3, 8, 12)
        x = values(1, 3, 8, 12, seed=50)
        build(net)
        want = list(reversed(opencv(net, x)))
        got = boxes(run(net, x), kind, (12, 8))
        if kind == "region":  # of which OpenCV drops scores that overlap better ones
            got = [np.where(other == 0, 0, one).astype("float32") for one, other in zip(got, want, strict=True)]
        return zip(got, want, strict=True)

    return Case(kind.upper(), f"{kind}: boxes", check)


ANCHORS = "1,2, 3,1.5, 2,2"


def _boxes() -> Iterator[Case]:
    sure: dict[str, Any] = {"thresh": 0.0001, "nms_threshold": 0}

    def yolo(net: Network) -> None:
        net.conv(16, 3, pad=1, activation="leaky").conv(14, 1, activation="linear")
        net.add("yolo", mask="0,2", anchors=ANCHORS, classes=2, num=3, **sure)

    def two_yolos(net: Network) -> None:
        yolo(net)
        net.add("route", net.shapes[0], layers=-3).conv(7, 1, stride=2, activation="linear")
        net.add("yolo", mask="1", anchors=ANCHORS, classes=2, num=3, **sure)

    def scaled(net: Network) -> None:
        net.conv(14, 1, activation="linear")
        net.add("yolo", mask="0,1", anchors=ANCHORS, classes=2, num=3, scale_x_y=1.1, **sure)

    for build in (yolo, two_yolos, scaled):
        yield _box_case("yolo", build)

    def region(net: Network) -> None:
        net.conv(24, 1, activation="linear")
        net.add("region", anchors=ANCHORS, classes=3, num=3, coords=4, softmax=1, **sure)

    yield _box_case("region", region)


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    scores = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(scores / scores.sum(axis, keepdims=True))


def _activations() -> Iterator[Case]:
    """Those that OpenCV does not know, on the numbers of the input."""
    functions: dict[str, Callable[[np.ndarray], Any]] = {
        "elu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
        "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(x) - 1)),
        "relie": lambda x: np.where(x > 0, x, 0.01 * x),
        "ramp": lambda x: x * (x > 0) + 0.1 * x,
        "loggy": lambda x: 2 / (1 + np.exp(-x)) - 1,
        "hardtan": lambda x: np.clip(x, -1, 1),
        "relu6": lambda x: np.clip(x, 0, 6),
        "lhtan": lambda x: np.where(x < 0, 0.001 * x, np.where(x > 1, 0.001 * (x - 1) + 1, x)),
        "plse": lambda x: np.where(x < -4, 0.01 * (x + 4), np.where(x > 4, 0.01 * (x - 4) + 1, 0.125 * x + 0.5)),
    }
    for name, function in functions.items():

        def check(name: str = name, function: Callable[[np.ndarray], Any] = function) -> Pairs:
            net = Network()
            net.weights = [np.zeros(3, "float32"), 8 * np.eye(3, dtype="float32")]
            net.add("convolutional", filters=3, activation=name)
            x = values(1, *net.shape)
            yield run(net, x)[0], function(8 * x).astype("float32")

        yield Case("CONVOLUTIONAL", name, check)


def _by_numpy() -> Iterator[Case]:
    yield from _activations()

    def region(x: np.ndarray) -> np.ndarray:
        out = x.reshape(1, 3, 8, 8, 8).copy()
        logistic = 1 / (1 + np.exp(-out))
        out[:, :, :2], out[:, :, 4:5] = logistic[:, :, :2], logistic[:, :, 4:5]
        out[:, :, 5:] = _softmax(out[:, :, 5:], 2)
        return out.reshape(x.shape)

    def with_background(x: np.ndarray) -> np.ndarray:
        out = x.reshape(1, 3, 8, 8, 8).copy()
        out[:, :, :2] = 1 / (1 + np.exp(-out[:, :, :2]))
        out[:, :, 4:] = _softmax(out[:, :, 4:], 2)
        return out.reshape(x.shape)

    options: dict[str, Any] = {"anchors": ANCHORS, "classes": 3, "num": 3, "softmax": 1}
    yield _case("region", lambda net: net.add("region", **options), region, channels=24)
    yield _case("region", lambda net: net.add("region", background=1, **options), with_background, channels=24)

    def reorganised(x: np.ndarray) -> np.ndarray:
        """Darknet takes the image for one of fewer channels and more pixels."""
        n, c, h, w = x.shape
        sheet = np.zeros(x.size, "float32")
        few = c // 4
        flat = x.ravel()
        for k in range(c):
            for j in range(h):
                for i in range(w):
                    row, column = j * 2 + (k // few) // 2, i * 2 + (k // few) % 2
                    sheet[i + w * (j + h * k)] = flat[column + w * 2 * (row + h * 2 * (k % few))]
        return sheet.reshape(n, c * 4, h // 2, w // 2)

    yield _case("reorg", lambda net: net.add("reorg", (32, 4, 4), stride=2), reorganised, channels=8)
    yield _case("l2norm", lambda net: net.add("l2norm"), lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)))
    yield _case("softmax", lambda net: net.add("softmax", (192, 1, 1)), lambda x: _softmax(x.reshape(1, -1), 1))
    yield _case(
        "softmax",
        lambda net: net.add("softmax", (192, 1, 1), groups=3, temperature=0.5),
        lambda x: _softmax(x.reshape(1, 3, 64) * 2, 2).reshape(1, -1),
    )

    def smaller(net: Network) -> None:
        net.add("maxpool", (4, 8, 8), size=1, stride=1).add("maxpool", (4, 4, 4), size=1, stride=2)
        net.add("shortcut", from_=-2, activation="relu")

    yield _case("shortcut", smaller, lambda x: np.maximum(2 * x[:, :, ::2, ::2], 0), channels=4)

    def larger(net: Network) -> None:
        net.add("maxpool", (4, 4, 4), size=1, stride=2).add("upsample", (4, 8, 8), stride=2)
        net.add("shortcut", from_=-2, activation="linear")

    def larger_by_hand(x: np.ndarray) -> np.ndarray:
        few = x[:, :, ::2, ::2]
        out = few.repeat(2, 2).repeat(2, 3)
        out[:, :, ::2, ::2] += few
        return out

    yield _case("shortcut", larger, larger_by_hand, channels=4)


def cases() -> Iterator[Case]:
    conv = lambda **options: lambda net: net.conv(6, 3, **options)  # noqa: E731
    for activation in ("linear", "leaky", "relu", "logistic", "tanh", "mish", "swish"):
        yield _case("convolutional", conv(pad=1, activation=activation), name=activation)
    yield _case("convolutional", conv(stride=2, pad=1, batch_normalize=1, activation="leaky"), height=9, width=7)
    yield _case("convolutional", conv(groups=3, activation="linear"))
    yield _case("convolutional", conv(groups=3, batch_normalize=1, activation="relu", stride=2))
    yield _case("connected", lambda net: net.dense(5, activation="linear"))
    yield _case("connected", lambda net: net.dense(5, activation="leaky").dense(4, activation="relu"))
    for size, stride in ((2, 2), (2, 1), (3, 2), (3, 1)):
        out = (9 + size - 1 - size) // stride + 1
        pool = lambda net, s=size, t=stride, o=out: net.add("maxpool", (3, o, o), size=s, stride=t)  # noqa: E731
        yield _case("maxpool", pool, height=9, width=9)
    yield _case("maxpool", lambda net: net.add("maxpool", (3, 3, 3), size=3, stride=2, padding=0))
    yield _case("softmax", lambda net: net.add("avgpool", (3, 1, 1)).add("softmax", (3, 1, 1)))
    yield _case("dropout", lambda net: net.conv(4, 1, activation="relu").add("dropout", probability=0.5))
    yield _case("avgpool", lambda net: net.add("avgpool", (3, 1, 1)))

    def route(net: Network, **options: Any) -> Network:
        net.conv(4, 3, pad=1, activation="leaky").conv(6, 1, activation="leaky")
        return net.add("route", (10, 8, 8), layers="-1, 0", **options)

    yield _case("route", route)
    yield _case("route", lambda net: route(net).add("route", (6, 8, 8), layers=1).conv(3, 1, activation="linear"))
    yield _case(
        "route",
        lambda net: net.conv(4, 3, pad=1, activation="leaky").add("route", (2, 8, 8), layers=-1, groups=2, group_id=1),
    )
    yield _case("reorg", lambda net: net.add("reorg", (32, 4, 4), stride=2), channels=8)

    def shortcut(net: Network, activation: str = "linear") -> None:
        net.conv(4, 3, pad=1, activation="leaky").conv(4, 1, activation="leaky")
        net.add("shortcut", from_=-2, activation=activation)

    yield _case("shortcut", shortcut)
    yield _case("shortcut", lambda net: shortcut(net, "leaky"))
    yield _case("upsample", lambda net: net.conv(4, 1, activation="linear").add("upsample", (4, 16, 16), stride=2))
    yield from _boxes()
    yield from _by_numpy()
