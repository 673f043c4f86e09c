"""Expressions that the rules for CPUs turn into kernels, with their inputs: what every instruction set has to get right.

Scales of integers are powers of two, so that floats are exact. Each case is a function of a maker of inputs.
"""

import numpy as np
import tessera
from tessera import relay

__all__ = ["CASES", "QUICK", "Inputs"]


class Inputs:
    """Makes variables, constants and the arrays of the former."""

    def __init__(self):
        self.rng = np.random.default_rng(5)
        self.values = {}

    def data(self, *shape, dtype="float32"):
        name = f"x{len(self.values)}"
        self.values[name] = self.array(*shape, dtype=dtype)
        return relay.var(name, shape=shape, dtype=dtype)

    def weight(self, *shape, dtype="float32"):
        return relay.const(self.array(*shape, dtype=dtype))

    def array(self, *shape, dtype="float32"):
        if dtype.startswith(("int", "uint")):
            info = np.iinfo(dtype)
            return self.rng.integers(max(info.min, -128), min(info.max, 255) + 1, shape).astype(dtype)
        return self.rng.uniform(-1, 1, shape).astype(dtype)


def matmul(m, n, k, layout="nn", dtype="float32", constant=False):
    def build(make):
        a = make.data(*((k, m) if layout[0] == "t" else (m, k)), dtype=dtype)
        b = (make.weight if constant else make.data)(*((n, k) if layout[1] == "t" else (k, n)), dtype=dtype)
        return relay.nn.matmul(a, b, transpose_a=layout[0] == "t", transpose_b=layout[1] == "t")

    return build


def dense(m, n, k):
    return lambda make: relay.nn.relu(
        relay.nn.bias_add(relay.nn.dense(make.data(m, k), make.weight(n, k)), make.data(n))
    )


def narrow_dense(m, n, k, dtype):
    def build(make):
        x, w = (relay.cast(part, dtype) for part in (make.data(m, k), make.weight(n, k)))
        return relay.cast(relay.nn.dense(x, w), "float32")

    return build


def conv(x, w, transposed=False, after=None, **attrs):
    def build(make):
        operator = (relay.nn.conv2d_transpose if transposed else relay.nn.conv2d) if len(x) == 4 else relay.nn.conv1d
        y = operator(make.data(*x), make.weight(*w), **attrs)
        return after(y, make) if after else y

    return build


def bias_and_relu(y, make):
    return relay.nn.relu(relay.nn.bias_add(y, make.weight(16)))


def pool(kind, shape, size, layout="NCHW", **attrs):
    return lambda make: getattr(relay.nn, kind)(make.data(*shape), pool_size=(size, size), layout=layout, **attrs)


def attention(make):
    q, k, v = (make.data(2, rows, 16) for rows in (37, 53, 53))
    scores = relay.nn.softmax(relay.nn.batch_matmul(q, k) * relay.const(np.float32(0.25)))
    return relay.nn.batch_matmul(scores, v, transpose_b=False)


def lstm(make):
    hidden, state, x = make.data(1, 40), make.data(1, 40), make.data(1, 24)
    gates = relay.nn.dense(x, make.weight(160, 24)) + relay.nn.dense(hidden, make.weight(160, 40))
    i, f, g, o = relay.split(gates, 4, axis=1)
    state = relay.sigmoid(f) * state + relay.sigmoid(i) * relay.tanh(g)
    return relay.sigmoid(o) * relay.tanh(state)


def real(x, scale, zero=0):
    return relay.qnn.op.dequantize(x, relay.const(np.float32(scale)), relay.const(zero))


def to_bytes(x, scale, zero):
    attrs = tessera.ir.make_node("relay.attrs.QuantizeAttrs", out_dtype="uint8", axis=-1, rounding="TOEVEN")
    return relay.Call(tessera.ir.Op.get("qnn.quantize"), [x, relay.const(np.float32(scale)), relay.const(zero)], attrs)


def byte_weights(make, *shape):
    scales = relay.const(2.0 ** make.rng.integers(-9, -4, shape[0]).astype("float32"))
    return relay.qnn.op.dequantize(
        make.weight(*shape, dtype="int8"), scales, relay.const(np.zeros(shape[0], "int32")), axis=0
    )


def byte_conv(x, w, zero=0, **attrs):
    def build(make):
        y = relay.nn.conv2d(real(make.data(*x, dtype="uint8"), 0.25, zero), byte_weights(make, *w), **attrs)
        return to_bytes(y, 8.0, 100)

    return build


def byte_dense(m, n, k, zero=0):
    return lambda make: relay.nn.dense(real(make.data(m, k, dtype="uint8"), 0.5, zero), byte_weights(make, n, k))


def byte_network(make):
    """A first layer, a block with a residual sum, and a classifier: integers lie between all layers."""
    x = to_bytes(relay.nn.conv2d(
        real(make.data(1, 3, 20, 20, dtype="uint8"), 0.5, 120), byte_weights(make, 16, 3, 3, 3), strides=(2, 2),
        padding=(1, 1), channels=16, kernel_size=(3, 3)), 8.0, 90)  # fmt: skip
    wide = relay.nn.conv2d(real(x, 8.0, 90), byte_weights(make, 32, 16, 1, 1), channels=32, kernel_size=(1, 1))
    wide = to_bytes(relay.nn.relu(wide), 128.0, 0)
    deep = relay.nn.conv2d(
        real(wide, 128.0), byte_weights(make, 32, 1, 3, 3), padding=(1, 1), groups=32, channels=32, kernel_size=(3, 3)
    )
    deep = to_bytes(deep, 1024.0, 128)
    thin = relay.nn.conv2d(real(deep, 1024.0, 128), byte_weights(make, 16, 32, 1, 1), channels=16, kernel_size=(1, 1))
    thin = to_bytes(thin, 16384.0, 128)
    y = to_bytes(real(thin, 16384.0, 128) + real(x, 8.0, 90), 16384.0, 128)
    y = relay.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2))
    return relay.nn.dense(real(relay.nn.batch_flatten(y), 16384.0, 128), byte_weights(make, 10, 400))


def transformer(make):
    """A layer of 21 tokens of 48 numbers, with three heads."""

    def linear(x, outs):
        ins = int(x.type_annotation.shape[-1]) if isinstance(x, relay.Var) else linear.width
        linear.width = outs
        weight = relay.const(make.array(outs, ins) * np.float32(ins**-0.5))
        return relay.nn.bias_add(relay.nn.dense(x, weight), make.weight(outs), axis=-1)

    def normed(x):
        return relay.nn.layer_norm(x, make.weight(48), make.weight(48))

    x = make.data(21, 48)
    heads = []
    for _ in range(3):
        part = relay.reshape(linear(x, 48), (21, 3, 16))
        heads.append(relay.transpose(part, (1, 0, 2)))
    q, k, v = heads
    weights = relay.nn.softmax(relay.nn.batch_matmul(q, k) * relay.const(np.float32(0.25)))
    mixed = relay.transpose(relay.nn.batch_matmul(weights, v, transpose_b=False), (1, 0, 2))
    y = normed(x + linear(relay.reshape(mixed, (21, 48)), 48))
    wide = linear(y, 192)
    wide = wide * (relay.erf(wide * relay.const(np.float32(0.5**0.5))) + relay.const(np.float32(1)))
    return normed(y + linear(wide, 48))


def norm(axis, *shape):
    def build(make):
        extent = shape[axis]
        return relay.nn.layer_norm(make.data(*shape), make.weight(extent), make.weight(extent), axis=axis)

    return build


def batch_norm(make):
    gamma, beta, mean = (make.weight(24) for _ in range(3))
    var = relay.const(make.rng.uniform(0.5, 1.5, 24).astype("float32"))
    return relay.nn.relu(relay.nn.batch_norm(make.data(2, 24, 5, 7), gamma, beta, mean, var)[0])


def concat(axis, *shapes):
    return lambda make: relay.concatenate([relay.nn.relu(make.data(*shape)) for shape in shapes], axis)


def narrowed(dtype):
    """The bits of fp16 and bf16: rounding is to the nearest, halves to even."""
    return lambda make: relay.reinterpret(relay.cast(make.data(3, 67), dtype), "uint16")


CASES = {
    # ---- products ----
    **{f"matmul_{layout}": matmul(33, 41, 57, layout) for layout in ("nn", "nt", "tn", "tt")},
    **{f"matmul_{m}x{n}x{k}": matmul(m, n, k) for m, n, k in [(1, 100, 33), (100, 1, 33), (64, 96, 300), (3, 17, 2), (7, 77, 130)]},
    **{f"constant_{m}x{n}x{k}": matmul(m, n, k, "nt", constant=True) for m, n, k in [(1, 100, 64), (20, 65, 129), (5, 7, 3)]},
    "matmul_float64": matmul(19, 23, 31, dtype="float64"),
    "dense": dense(9, 50, 70),
    **{
        f"dense_{dtype}_{m}": narrow_dense(m, 70, 96, dtype) for dtype in ("float16", "bfloat16") for m in (1, 20)
    },
    "batch_matmul": lambda make: relay.nn.batch_matmul(make.data(3, 17, 20), make.data(3, 25, 20)),
    "attention": attention,
    "lstm": lstm,
    # ---- convolutions ----
    "conv_1x1": conv((1, 32, 7, 9), (48, 32, 1, 1)),
    "conv_3x3": conv((1, 16, 9, 11), (32, 16, 3, 3), padding=(1, 1), strides=(2, 2)),
    "conv_bias_relu": conv((1, 8, 10, 10), (16, 8, 3, 3), padding=(1, 1), after=bias_and_relu),
    "conv_winograd": conv((1, 64, 20, 20), (64, 64, 3, 3), padding=(1, 1)),
    "conv_first": conv((1, 3, 17, 17), (16, 3, 7, 7), padding=(3, 3), strides=(2, 2)),
    "conv_odd": conv((2, 5, 8, 8), (7, 5, 3, 2), padding=(1, 0, 2, 1)),
    "conv_dilated": conv((1, 8, 12, 12), (16, 8, 3, 3), dilation=(2, 2), padding=(2, 2)),
    "conv_groups": conv((1, 32, 8, 8), (32, 8, 3, 3), groups=4, padding=(1, 1)),
    "conv_depthwise": conv((1, 32, 9, 9), (32, 1, 3, 3), groups=32, padding=(1, 1)),
    "conv_depthwise_strided": conv((1, 24, 11, 11), (24, 1, 5, 5), groups=24, padding=(2, 2), strides=(2, 2)),
    "conv_nhwc": conv((1, 9, 9, 16), (3, 3, 16, 32), data_layout="NHWC", kernel_layout="HWIO", channels=32, kernel_size=(3, 3)),
    "conv_transposed": conv((1, 16, 6, 7), (16, 24, 3, 3), transposed=True, strides=(2, 2), padding=(1, 1), channels=24, kernel_size=(3, 3)),
    "conv_1d": conv((1, 16, 30), (32, 16, 5), padding=(2,)),
    # ---- integers ----
    "bytes_1x1": byte_conv((1, 32, 7, 7), (48, 32, 1, 1), channels=48, kernel_size=(1, 1)),
    "bytes_3x3": byte_conv((1, 16, 9, 9), (32, 16, 3, 3), zero=131, padding=(1, 1), channels=32, kernel_size=(3, 3)),
    "bytes_depthwise": byte_conv((1, 32, 9, 9), (32, 1, 3, 3), padding=(1, 1), groups=32, channels=32, kernel_size=(3, 3)),
    "bytes_first": byte_conv((1, 3, 15, 15), (32, 3, 7, 7), padding=(3, 3), strides=(2, 2), channels=32, kernel_size=(7, 7)),
    "bytes_dense": byte_dense(5, 33, 36),
    "bytes_dense_wide": byte_dense(17, 64, 300, zero=77),
    "bytes_dense_row": byte_dense(1, 100, 256),
    "byte_network": byte_network,
    "transformer": transformer,
    # ---- windows, rows, sums ----
    "max_pool": pool("max_pool2d", (1, 24, 13, 13), 3, strides=(2, 2), padding=(1, 1)),
    "avg_pool": pool("avg_pool2d", (1, 20, 12, 12), 2, strides=(2, 2)),
    "max_pool_nhwc": pool("max_pool2d", (1, 11, 11, 18), 3, "NHWC", strides=(2, 2)),
    "global_avg_pool": lambda make: relay.nn.global_avg_pool2d(make.data(1, 40, 7, 7)),
    "softmax": lambda make: relay.nn.softmax(make.data(7, 61)),
    "softmax_axis": lambda make: relay.nn.softmax(make.data(3, 21, 5), axis=1),
    "log_softmax": lambda make: relay.nn.log_softmax(make.data(4, 100)),
    "layer_norm": norm(-1, 6, 77),
    "batch_norm": batch_norm,
    "group_norm": lambda make: relay.nn.group_norm(make.data(2, 12, 5, 5), make.weight(12), make.weight(12), num_groups=3),
    "instance_norm": lambda make: relay.nn.instance_norm(make.data(2, 6, 9, 9), make.weight(6), make.weight(6)),
    "sum_rows": lambda make: relay.sum(make.data(13, 130), axis=1),
    "sum_columns": lambda make: relay.sum(make.data(130, 13), axis=0),
    "sum_all": lambda make: relay.sum(make.data(7, 11, 13)),
    "max_rows": lambda make: relay.max(make.data(9, 77), axis=1),
    "argmax": lambda make: relay.argmax(make.data(9, 77), axis=1),
    "mean": lambda make: relay.mean(make.data(4, 5, 60), axis=(0, 2)),
    # ---- moving and element by element ----
    "transpose": lambda make: relay.transpose(make.data(37, 70), (1, 0)),
    "transpose_whole": lambda make: relay.transpose(make.data(64, 64), (1, 0)),
    "transpose_bytes": lambda make: relay.transpose(make.data(37, 70, dtype="uint8"), (1, 0)),
    "transpose_inner": lambda make: relay.transpose(make.data(2, 12, 20, 9), (0, 2, 3, 1)),
    "concatenate": concat(1, (2, 7, 9), (2, 4, 9), (2, 9, 9)),
    "concatenate_last": concat(-1, (5, 13), (5, 20)),
    "resize_linear": lambda make: relay.image.resize2d(make.data(1, 6, 9, 9), (18, 18), method="linear"),
    "resize_nearest": lambda make: relay.image.resize2d(
        make.data(1, 6, 9, 9), (18, 18), method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor"
    ),
    "take": lambda make: relay.take(make.data(30, 19), relay.const(np.array([3, 29, 0, 7], "int32")), axis=0),
    "strided": lambda make: relay.strided_slice(make.data(9, 50), [1, 3], [9, 50], [2, 3]),
    "pad": lambda make: relay.nn.pad(make.data(3, 11, 13), ((0, 0), (1, 2), (3, 1))),
    "exp": lambda make: relay.exp(make.data(3, 67)),
    "tanh_sigmoid": lambda make: relay.tanh(relay.sigmoid(make.data(101))),
    "erf": lambda make: relay.erf(make.data(5, 31)),
    "float16": narrowed("float16"),
    "bfloat16": narrowed("bfloat16"),
    "to_bytes": lambda make: relay.cast(relay.clip(make.data(5, 43) * relay.const(np.float32(90)), -128, 127), "int8"),
}  # fmt: skip

QUICK = (
    "matmul_nn", "matmul_nt", "constant_20x65x129", "conv_1x1", "conv_winograd", "conv_depthwise", "bytes_3x3",
    "bytes_dense", "max_pool", "softmax", "layer_norm", "transpose", "attention", "bfloat16",
)  # fmt: skip
