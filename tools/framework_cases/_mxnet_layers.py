"""Layers of MXNet, in integers too; see `framework_cases`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import Case, Pairs
from ._mxnet_symbol import Value, case, evaluate, floats, renamed, symbol_case, tensor


def _layers() -> Iterator[Case]:
    x, image = tensor(2, 3, 4), tensor(2, 4, 9, 8)
    yield case("FullyConnected", x, tensor(5, 12), tensor(5), num_hidden=5)
    yield case("FullyConnected", x, tensor(5, 4), num_hidden=5, no_bias=True, flatten=False)
    yield case("dot", tensor(3, 4), tensor(5, 4), transpose_b=True)
    yield case("dot", tensor(4, 3), tensor(4, 5), transpose_a=True)
    yield case("batch_dot", x, tensor(2, 5, 4), transpose_b=True)
    for kind in ["relu", "sigmoid", "tanh", "softrelu", "softsign"]:
        yield case("Activation", x, act_type=kind)
    for kind in ["leaky", "elu", "selu", "gelu"]:
        yield case("LeakyReLU", x, act_type=kind, slope=0.3)
    yield case("LeakyReLU", image, tensor(4), act_type="prelu")
    for name in ("softmax", "log_softmax", "softmin"):
        yield case(name, x, axis=1, temperature=2.0)
    yield case("SoftmaxActivation", tensor(2, 5))
    yield case("SoftmaxActivation", image, mode="channel")
    for name in ("SoftmaxOutput",):
        yield case(name, tensor(2, 5), floats([1, 2]), labels=1)
        yield case(name, image, tensor(2, 9, 8), labels=1, multi_output=True)
    yield Case("Softmax", "Softmax", _softmax_by_its_old_name)
    yield case("LinearRegressionOutput", tensor(2, 5), tensor(2, 5), labels=1)
    yield case("LogisticRegressionOutput", tensor(2, 5), tensor(2, 5), labels=1)
    convolution: dict[str, Any] = {"kernel": (3, 2), "num_filter": 6, "stride": (2, 1), "pad": (1, 0)}
    yield case("Convolution", image, tensor(6, 4, 3, 2), tensor(6), **convolution)
    yield case(
        "Convolution", image, tensor(6, 2, 3, 3), kernel=(3, 3), num_filter=6, num_group=2, dilate=(2, 2), no_bias=True
    )
    yield case("Convolution", tensor(2, 4, 9), tensor(6, 4, 3), tensor(6), kernel=(3,), num_filter=6)
    yield case("Convolution", tensor(1, 2, 5, 6, 7), tensor(3, 2, 2, 3, 2), tensor(3), kernel=(2, 3, 2), num_filter=3)
    yield renamed("Convolution_v1", "Convolution", image, tensor(6, 4, 3, 2), tensor(6), **convolution)
    shapes: list[dict[str, Any]] = [{}, {"adj": (1, 0)}, {"target_shape": (19, 9)}]
    for more in shapes:
        yield case(
            "Deconvolution",
            image,
            tensor(4, 3, 3, 2),
            kernel=(3, 2),
            num_filter=3,
            stride=(2, 1),
            pad=(1, 0) if "target_shape" not in more else (0, 0),
            **more,
        )
    yield case(
        "Deconvolution", image, tensor(4, 2, 3, 3), tensor(4), kernel=(3, 3), num_filter=4, num_group=2, no_bias=False
    )
    for kind in ["max", "avg", "sum"]:
        for convention in ("valid", "full"):
            yield case(
                "Pooling",
                image,
                kernel=(3, 2),
                stride=(2, 2),
                pad=(1, 0),
                pool_type=kind,
                pooling_convention=convention,
            )
        yield case("Pooling", image, pool_type=kind, global_pool=True, kernel=(1, 1))
    yield case("Pooling", image, kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False)
    yield case("Pooling", tensor(1, 2, 5, 6, 7), kernel=(2, 2, 2), stride=(2, 2, 2), pool_type="max")
    yield renamed("Pooling_v1", "Pooling", image, kernel=(2, 2), stride=(2, 2), pool_type="max")
    yield case("Dropout", x, p=0.5)
    norm = (tensor(4, low=0.5), tensor(4, seed=2))
    for name in ("BatchNorm", "_contrib_SyncBatchNorm"):
        keys: dict[str, Any] = {"key": "k"} if "Sync" in name else {}
        yield case(name, image, *norm, aux=(tensor(4), tensor(4, low=0.5, high=2)), fix_gamma=False, **keys)
        yield case(name, image, *norm, aux=(tensor(4), tensor(4, low=0.5, high=2)), **keys)
    yield _renamed_norm()
    yield case("InstanceNorm", image, *norm)
    yield case("LayerNorm", x, tensor(4), tensor(4, seed=2))
    yield case("LayerNorm", x, tensor(3), tensor(3, seed=2), axis=1)
    yield case("GroupNorm", image, tensor(2), tensor(2, seed=2), num_groups=2)
    yield case("LRN", image, nsize=3, alpha=0.01)
    for mode in ["instance", "channel", "spatial"]:
        yield case("L2Normalization", image, mode=mode)
    yield case("_contrib_div_sqrt_dim", x)
    attention = tensor(5, 2, 2 * 3 * 4)
    yield case("_contrib_interleaved_matmul_selfatt_qk", attention, heads=2)
    yield case("_contrib_interleaved_matmul_selfatt_valatt", attention, tensor(4, 5, 5), heads=2)
    for mode, gates in (("rnn_relu", 1), ("rnn_tanh", 1), ("lstm", 4), ("gru", 3)):
        for layers, both in ((1, False), (2, True)):
            ways = 2 if both else 1
            size = sum(ways * gates * 3 * ((4 if i == 0 else 3 * ways) + 3 + 2) for i in range(layers))
            states = [tensor(layers * ways, 2, 3, seed=i) for i in range(2 if mode == "lstm" else 1)]
            yield case(
                "RNN",
                tensor(5, 2, 4),
                tensor(size),
                *states,
                mode=mode,
                state_size=3,
                num_layers=layers,
                bidirectional=both,
                state_outputs=True,
            )


def _softmax_by_its_old_name() -> Pairs:
    import mxnet as mx
    from tessera import relay

    data = {"x": tensor(2, 5), "label": floats([1, 2])}
    made = mx.sym.SoftmaxOutput(mx.sym.Variable("x"), mx.sym.Variable("label"))
    text = made.tojson().replace('"op": "SoftmaxOutput"', '"op": "Softmax"')
    mod, _ = relay.frontend.from_mxnet(text, {"x": (2, 5), "label": (2,)})
    return [(relay.create_executor("graph", mod).evaluate()(data["x"]).numpy(), evaluate(made, data, {})[0])]


def _renamed_norm() -> Case:
    def run() -> Pairs:
        import mxnet as mx
        from tessera import relay

        data = {"x": tensor(2, 4, 3, 3), "n_gamma": tensor(4), "n_beta": tensor(4, seed=2)}
        aux = {"n_moving_mean": tensor(4), "n_moving_var": tensor(4, low=0.5, high=2)}
        made = mx.sym.BatchNorm(mx.sym.Variable("x"), name="n")
        text = made.tojson().replace('"op": "BatchNorm"', '"op": "BatchNorm_v1"')
        mod, held = relay.frontend.from_mxnet(
            text, {"x": (2, 4, 3, 3)}, "float32", {k: v for k, v in data.items() if k != "x"}, aux
        )
        got = relay.create_executor("graph", mod).evaluate()(data["x"], **held).numpy()
        return [(got, evaluate(made, data, aux)[0])]

    return Case("BatchNorm_v1", "BatchNorm_v1", run)


def _quantized() -> Iterator[Case]:
    x = tensor(2, 4, 6, 6)

    def chain(
        operator: str, after: Callable[[Any, list[Any]], list[Any]], *data: Value, aux: tuple[Value, ...] = ()
    ) -> Case:
        in_integers = operator[len("_contrib_") :] in ("quantize_v2", "quantized_pooling", "quantized_batch_norm")

        def make(mx: Any, inputs: list[Any]) -> Any:
            made = after(mx, inputs)
            return mx.sym.Group(list(made)) if in_integers else mx.sym.contrib.dequantize(*made)

        return symbol_case(operator, make, list(data or (x,)), list(aux))

    def quantize(mx: Any, data: Any, kind: str = "int8") -> Any:
        limits = {"min_calib_range": -1.0 if kind == "int8" else 0.0, "max_calib_range": 1.0}
        return mx.sym.contrib.quantize_v2(data, out_type=kind, **limits)

    yield chain("_contrib_quantize_v2", lambda mx, i: quantize(mx, i[0]))
    yield chain("_contrib_dequantize", lambda mx, i: quantize(mx, i[0], "uint8"), np.abs(x))
    yield chain("_contrib_dequantize", lambda mx, i: quantize(mx, i[0]))
    yield chain("_contrib_quantized_flatten", lambda mx, i: mx.sym.contrib.quantized_flatten(*quantize(mx, i[0])))
    yield chain(
        "_contrib_quantized_act", lambda mx, i: mx.sym.contrib.quantized_act(*quantize(mx, i[0]), act_type="relu")
    )

    def pooled(kind: str, mx: Any, i: list[Any]) -> Any:
        return mx.sym.contrib.quantized_pooling(*quantize(mx, i[0]), kernel=(2, 2), stride=(2, 2), pool_type=kind)

    for kind in ("max", "avg"):
        yield chain(
            "_contrib_quantized_pooling",
            partial(pooled, kind),
        )

    def concatenated(mx: Any, inputs: list[Any]) -> Any:
        a, b = (list(quantize(mx, one)) for one in inputs)
        return mx.sym.contrib.quantized_concat(a[0], b[0], a[1], a[2], b[1], b[2], num_args=2, dim=1)

    yield chain("_contrib_quantized_concat", concatenated, x, tensor(2, 3, 6, 6))

    def normed(mx: Any, inputs: list[Any]) -> Any:
        made = list(quantize(mx, inputs[0]))
        limits = {"min_calib_range": -4.0, "max_calib_range": 4.0, "eps": 1e-3}
        return mx.sym.contrib.quantized_batch_norm(made[0], *inputs[1:], made[1], made[2], **limits)

    norm = (tensor(4, low=0.5), tensor(4, seed=2), tensor(4, seed=3), tensor(4, low=0.5, seed=4))
    yield chain("_contrib_quantized_batch_norm", normed, x, *norm, aux=norm[2:])


def _control() -> Iterator[Case]:
    def branch(mx: Any, i: list[Any]) -> Any:
        return mx.sym.contrib.cond(mx.sym.sum(i[0]) > 0, lambda: i[0] + i[1], lambda: i[0] * i[1])

    yield symbol_case("_cond", branch, [tensor(3, low=0.1), tensor(3)], [], "then")
    yield symbol_case("_cond", branch, [tensor(3, high=-0.1), tensor(3)], [], "else")

    def fused(mx: Any, symbol: Any) -> Any:
        return symbol.get_backend_symbol("MKLDNN")

    def conv(mx: Any, i: list[Any]) -> Any:
        made = mx.sym.Activation(mx.sym.Convolution(*i, kernel=(3, 3), num_filter=5), act_type="relu")
        return fused(mx, made)

    yield symbol_case("_sg_mkldnn_conv", conv, [tensor(1, 4, 6, 6), tensor(5, 4, 3, 3), tensor(5)], [])

    def dense(mx: Any, i: list[Any]) -> Any:
        return mx.sym.Activation(mx.sym.FullyConnected(*i, num_hidden=5), act_type="relu").get_backend_symbol(
            "MKLDNN_QUANTIZE"
        )

    yield symbol_case("_sg_mkldnn_fully_connected", dense, [tensor(2, 4), tensor(5, 4), tensor(5)], [])


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _layers()
    yield from _quantized()
    yield from _control()
