"""A small network that reads handwritten digits, said once and written down twice: as Relay and as ONNX.

`classifier` is the network. It speaks to a builder, which makes of each layer what it is for: `RelayBuilder` expressions
for training, `OnnxBuilder` nodes of a model file.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

EPSILON = 1e-5


class Builder(Protocol):
    """What a network is made with. Channels are the second axis."""

    def conv(self, name: str, x: Any, channels: int, size: int, stride: int = 1, groups: int = 1) -> Any: ...
    def norm(self, name: str, x: Any, scale: float = 1.0) -> Any: ...
    def relu(self, x: Any) -> Any: ...
    def add(self, x: Any, y: Any) -> Any: ...
    def mean_of_pixels(self, x: Any) -> Any: ...
    def dense(self, name: str, x: Any, units: int) -> Any: ...


def classifier(b: Builder, image: Any) -> Any:
    """(n, 1, 8, 8) images to (n, 10) scores: a residual block, a step down, a separable residual block."""
    x = b.relu(b.norm("stem.norm", b.conv("stem", image, 24, 3)))

    y = b.relu(b.norm("wide.norm1", b.conv("wide.conv1", x, 24, 3)))
    y = b.norm("wide.norm2", b.conv("wide.conv2", y, 24, 3), scale=0.0)
    x = b.relu(b.add(x, y))

    x = b.relu(b.norm("down.norm", b.conv("down", x, 48, 3, stride=2)))

    y = b.relu(b.norm("deep.norm1", b.conv("deep.conv1", x, 48, 3, groups=48)))
    y = b.norm("deep.norm2", b.conv("deep.conv2", y, 48, 1), scale=0.0)
    x = b.relu(b.add(x, y))
    return b.dense("answer", b.mean_of_pixels(x), 10)


class RelayBuilder:
    """Relay of the network while it is trained: normalised by the mean and variance of the batch.

    `variables` holds the parameters in the order they are met and `initial` their first values; `statistics` holds mean and
    variance of each normalisation, in order.
    """

    def __init__(self, seed: int = 0):
        self.variables: dict[str, Any] = {}
        self.initial: dict[str, np.ndarray] = {}
        self.statistics: list[Any] = []
        self._random = np.random.default_rng(seed)
        self._channels: dict[Any, int] = {}

    def conv(self, name: str, x: Any, channels: int, size: int, stride: int = 1, groups: int = 1) -> Any:
        from tessera import relay

        inputs = self._channels.get(x, 1) // groups
        weight = self._parameter(name + ".weight", self._normal((channels, inputs, size, size), inputs * size * size))
        y = relay.nn.conv2d(
            x,
            weight,
            strides=(stride, stride),
            padding=(size // 2, size // 2),
            groups=groups,
            channels=channels,
            kernel_size=(size, size),
        )
        return self._with_channels(y, channels)

    def norm(self, name: str, x: Any, scale: float = 1.0) -> Any:
        from tessera import relay

        channels = self._channels[x]
        gamma = self._parameter(name + ".gamma", np.full(channels, scale, "float32"))
        beta = self._parameter(name + ".beta", np.zeros(channels, "float32"))
        mean = relay.mean(x, axis=[0, 2, 3], keepdims=True)
        centred = x - mean
        variance = relay.mean(centred * centred, axis=[0, 2, 3], keepdims=True)
        self.statistics += [mean, variance]
        factor = relay.rsqrt(variance + relay.const(EPSILON)) * relay.reshape(gamma, (1, channels, 1, 1))
        return self._with_channels(centred * factor + relay.reshape(beta, (1, channels, 1, 1)), channels)

    def relu(self, x: Any) -> Any:
        from tessera import relay

        return self._with_channels(relay.nn.relu(x), self._channels[x])

    def add(self, x: Any, y: Any) -> Any:
        return self._with_channels(x + y, self._channels[x])

    def mean_of_pixels(self, x: Any) -> Any:
        from tessera import relay

        return self._with_channels(relay.mean(x, axis=[2, 3]), self._channels[x])

    def dense(self, name: str, x: Any, units: int) -> Any:
        from tessera import relay

        weight = self._parameter(name + ".weight", self._normal((units, self._channels[x]), self._channels[x]))
        bias = self._parameter(name + ".bias", np.zeros(units, "float32"))
        return relay.nn.bias_add(relay.nn.dense(x, weight), bias)

    def _normal(self, shape: tuple[int, ...], fan_in: int) -> np.ndarray:
        return (self._random.standard_normal(shape) * np.sqrt(2 / fan_in)).astype("float32")

    def _parameter(self, name: str, value: np.ndarray) -> Any:
        from tessera import relay

        self.initial[name] = value
        self.variables[name] = relay.var(name, shape=value.shape, dtype="float32")
        return self.variables[name]

    def _with_channels(self, x: Any, channels: int) -> Any:
        self._channels[x] = channels
        return x


class OnnxBuilder:
    """ONNX nodes of the trained network. `statistics` are mean and variance of each normalisation, in order."""

    def __init__(self, values: dict[str, np.ndarray], statistics: list[np.ndarray]):
        import onnx

        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._onnx = onnx
        self._values = values
        self._statistics = iter(statistics)

    def conv(self, name: str, x: Any, channels: int, size: int, stride: int = 1, groups: int = 1) -> Any:
        inputs = [x, self._constant(name + ".weight")]
        pads, strides = [size // 2] * 4, [stride] * 2
        return self._node("Conv", name, inputs, group=groups, pads=pads, strides=strides, kernel_shape=[size, size])

    def norm(self, name: str, x: Any, scale: float = 1.0) -> Any:
        for kind in ("mean", "variance"):
            self._values[f"{name}.{kind}"] = next(self._statistics).ravel()
        inputs = [x, *(self._constant(f"{name}.{kind}") for kind in ("gamma", "beta", "mean", "variance"))]
        return self._node("BatchNormalization", name, inputs, epsilon=EPSILON)

    def relu(self, x: Any) -> Any:
        return self._node("Relu", x + ".relu", [x])

    def add(self, x: Any, y: Any) -> Any:
        return self._node("Add", y + ".sum", [x, y])

    def mean_of_pixels(self, x: Any) -> Any:
        return self._node("Flatten", "features", [self._node("GlobalAveragePool", "pool", [x])], axis=1)

    def dense(self, name: str, x: Any, units: int) -> Any:
        return self._node("Gemm", name, [x, self._constant(name + ".weight"), self._constant(name + ".bias")], transB=1)

    def model(self, scores: str) -> Any:
        """The network as a file's content: an image of ones and zeros in, ten probabilities out."""
        helper, real = self._onnx.helper, self._onnx.TensorProto.FLOAT
        self.nodes.append(helper.make_node("Softmax", [scores], ["probabilities"], name="softmax", axis=1))
        graph = helper.make_graph(
            self.nodes,
            "digits",
            [helper.make_tensor_value_info("image", real, [1, 1, 8, 8])],
            [helper.make_tensor_value_info("probabilities", real, [1, 10])],
            self.initializers,
        )
        opset = helper.make_opsetid("", 17)
        model = helper.make_model(graph, producer_name="tessera/examples/digits", opset_imports=[opset], ir_version=8)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _constant(self, name: str) -> str:
        self.initializers.append(self._onnx.numpy_helper.from_array(self._values[name].astype("float32"), name))
        return name

    def _node(self, operator: str, name: str, inputs: list[str], **attributes: Any) -> str:
        self.nodes.append(self._onnx.helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name
