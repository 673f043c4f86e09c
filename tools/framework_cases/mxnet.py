"""Operators of MXNet, each in a symbol of its own; see `framework_cases`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import Case, Pairs

TITLE = "MXNet"
ORACLE = "MXNet 1.9.1; ring buffers, which it does not have, by NumPy"
OPERATORS = [
    "_copy",
    "relu",
    "arccos",
    "arcsin",
    "arctan",
    "arccosh",
    "arcsinh",
    "arctanh",
    "logical_not",
    "_equal",
    "_not_equal",
    "_greater",
    "_greater_equal",
    "_lesser",
    "_lesser_equal",
    "elemwise_add",
    "elemwise_sub",
    "elemwise_mul",
    "elemwise_div",
    "_maximum",
    "_minimum",
    "flatten",
    "Flatten",
    "square",
    "rsqrt",
    "cbrt",
    "rcbrt",
    "__pow_scalar__",
    "_power_scalar",
    "__rsub_scalar__",
    "_rminus_scalar",
    "__rdiv_scalar__",
    "_rdiv_scalar",
    "__rpow_scalar__",
    "__add_scalar__",
    "_plus_scalar",
    "__sub_scalar__",
    "_minus_scalar",
    "__mul_scalar__",
    "_mul_scalar",
    "__div_scalar__",
    "_div_scalar",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "_equal_scalar",
    "_not_equal_scalar",
    "_greater_scalar",
    "_greater_equal_scalar",
    "_lesser_scalar",
    "_lesser_equal_scalar",
    "_maximum_scalar",
    "_minimum_scalar",
    "mean",
    "max",
    "min",
    "sum",
    "max_axis",
    "min_axis",
    "sum_axis",
    "argmax",
    "argmin",
    "_ones",
    "softmax",
    "log_softmax",
    "Softmax",
    "softsign",
    "softmin",
    "hard_sigmoid",
    "reciprocal",
    "Reshape",
    "reshape",
    "Cast",
    "amp_cast",
    "amp_multicast",
    "clip",
    "transpose",
    "UpSampling",
    "add_n",
    "_zeros",
    "FullyConnected",
    "Activation",
    "Convolution",
    "Convolution_v1",
    "Deconvolution",
    "Pooling",
    "Pooling_v1",
    "Dropout",
    "BatchNorm",
    "BatchNorm_v1",
    "InstanceNorm",
    "LayerNorm",
    "GroupNorm",
    "LRN",
    "L2Normalization",
    "slice",
    "slice_like",
    "slice_axis",
    "SliceChannel",
    "split",
    "_split_v2",
    "SwapAxis",
    "expand_dims",
    "Concat",
    "concat",
    "stack",
    "dot",
    "batch_dot",
    "LeakyReLU",
    "_arange",
    "_full",
    "repeat",
    "tile",
    "pad",
    "Pad",
    "take",
    "gather_nd",
    "reverse",
    "SequenceReverse",
    "squeeze",
    "BlockGrad",
    "shape_array",
    "Embedding",
    "argsort",
    "topk",
    "_unravel_index",
    "SequenceMask",
    "SoftmaxOutput",
    "SoftmaxActivation",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "smooth_l1",
    "make_loss",
    "one_hot",
    "depth_to_space",
    "space_to_depth",
    "Correlation",
    "ROIPooling",
    "GridGenerator",
    "BilinearSampler",
    "RNN",
    "_rnn_param_concat",
    "_cond",
    "Crop",
    "ring_buffer",
    "_sg_mkldnn_conv",
    "_sg_mkldnn_fully_connected",
    "_np_transpose",
    "_npx_reshape",
    "_np_copy",
    "broadcast_add",
    "broadcast_plus",
    "broadcast_sub",
    "broadcast_minus",
    "broadcast_mul",
    "broadcast_div",
    "broadcast_mod",
    "broadcast_maximum",
    "broadcast_minimum",
    "broadcast_power",
    "broadcast_equal",
    "broadcast_not_equal",
    "broadcast_greater",
    "broadcast_greater_equal",
    "broadcast_lesser",
    "broadcast_lesser_equal",
    "broadcast_logical_or",
    "broadcast_logical_and",
    "broadcast_logical_xor",
    "broadcast_to",
    "broadcast_like",
    "broadcast_axis",
    "broadcast_axes",
    "_contrib_quantized_concat",
    "_contrib_quantized_ring_buffer",
    "_contrib_quantized_flatten",
    "_contrib_quantized_act",
    "_contrib_quantized_pooling",
    "_contrib_quantized_batch_norm",
    "_contrib_SyncBatchNorm",
    "_contrib_div_sqrt_dim",
    "_contrib_arange_like",
    "_contrib_BilinearResize2D",
    "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxDetection",
    "_contrib_ROIAlign",
    "_contrib_Proposal",
    "_contrib_MultiProposal",
    "_contrib_box_nms",
    "_contrib_box_decode",
    "_contrib_DeformableConvolution",
    "_contrib_AdaptiveAvgPooling2D",
    "_contrib_interleaved_matmul_selfatt_qk",
    "_contrib_interleaved_matmul_selfatt_valatt",
    "_contrib_quantize_v2",
    "_contrib_dequantize",
    "_npi_transpose",
    "_npi_pad",
    "_npi_concatenate",
    "_npi_copy",
    "_npi_power",
    "_npi_power_scalar",
    "_npi_multiply",
    "_npi_multiply_scalar",
    "_npi_add",
    "_npi_add_scalar",
    "_npi_subtract",
    "_npi_subtract_scalar",
    "_npi_where_rscalar",
    "_npi_less",
    "_npi_less_equal",
    "_npi_tanh",
    "_npi_true_divide_scalar",
    "_npi_stack",
    "abs",
    "log",
    "exp",
    "erf",
    "sqrt",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "sigmoid",
    "negative",
    "reshape_like",
    "zeros_like",
    "ones_like",
    "cos",
    "cosh",
    "sin",
    "sinh",
    "tan",
    "tanh",
    "where",
]

Value = np.ndarray


def _tensor(*shape: int, seed: int = 0, low: float = -1, high: float = 1) -> Value:
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype("float32")


def _floats(values: Any) -> Value:
    return np.array(values, "float32")


def _evaluate(symbol: Any, data: dict[str, Value], aux: dict[str, Value]) -> list[Value]:
    import mxnet as mx

    arrays = {name: mx.nd.array(value, dtype=value.dtype) for name, value in data.items()}
    held = {name: mx.nd.array(value) for name, value in aux.items()}
    bound = symbol.bind(mx.cpu(), {n: arrays[n] for n in symbol.list_arguments()}, aux_states=held, grad_req="null")
    return [out.asnumpy() for out in bound.forward(is_train=False)]


def _import(symbol: Any, data: dict[str, Value], aux: dict[str, Value], weights: list[str]) -> list[Value]:
    from tessera import relay

    params = {name: data[name] for name in weights}
    inputs = {name: value for name, value in data.items() if name not in weights}
    mod, held = relay.frontend.from_mxnet(
        symbol,
        {name: value.shape for name, value in inputs.items()},
        {name: str(value.dtype) for name, value in inputs.items()},
        params,
        aux,
    )
    kind = "vm" if "if (" in mod.astext() else "graph"
    out = relay.create_executor(kind, mod).evaluate()(**inputs, **held)
    return [one.numpy() for one in out] if len(symbol.list_outputs()) > 1 else [out.numpy()]


def _symbol_case(
    operator: str,
    make: Callable[[Any, list[Any]], Any],
    data: list[Value],
    aux: list[Value],
    name: str = "",
    labels: int = 0,
) -> Case:
    def run() -> Pairs:
        import mxnet as mx

        named = {f"x{i}": value for i, value in enumerate(data)}
        symbol = make(mx, [mx.sym.Variable(one) for one in named])
        named = {one: value for one, value in named.items() if one in symbol.list_arguments()}
        held = dict(zip(symbol.list_auxiliary_states(), aux, strict=True))
        want = _evaluate(symbol, named, held)
        given = {one: value for i, (one, value) in enumerate(named.items()) if not labels or i < len(named) - labels}
        # A comparison's truth is of the operands' type, as in MXNet.
        return zip(_import(symbol, given, held, []), want, strict=True)

    return Case(operator, name or operator, run)


def _case(
    operator: str, *data: Value, aux: tuple[Value, ...] = (), labels: int = 0, as_list: bool = False, **attributes: Any
) -> Case:
    def make(mx: Any, inputs: list[Any]) -> Any:
        if operator.startswith("_contrib_"):
            function = getattr(mx.sym.contrib, operator[len("_contrib_") :])
        else:
            found = [space for space in (mx.sym, mx.sym._internal, mx.sym.op) if hasattr(space, operator)]
            function = getattr(found[0], operator) if found else _raw(mx, operator)
        return function(*inputs, **attributes)

    return _symbol_case(operator, make, list(data), list(aux), f"{operator} {attributes}", labels)


def _raw(mx: Any, operator: str) -> Callable[..., Any]:
    """An operator of the NumPy interface, on symbols of the older one."""
    spaces = {"_npi_": mx.sym.numpy._internal, "_np_": mx.sym.numpy._op, "_npx_": mx.sym.npx}
    start = next(one for one in spaces if operator.startswith(one))
    function = getattr(spaces[start], operator[len(start) :])

    def call(*inputs: Any, **attributes: Any) -> Any:
        return function(*[one.as_np_ndarray() for one in inputs], **attributes)

    return call


def _elementwise() -> Iterator[Case]:
    positive, signed, small = (
        _tensor(2, 3, 4, low=0.1, high=3),
        _tensor(2, 3, 4, high=2, low=-2),
        _tensor(2, 3, 4, high=0.9, low=-0.9),
    )
    for name in [
        "_copy",
        "relu",
        "arctan",
        "arcsinh",
        "logical_not",
        "flatten",
        "Flatten",
        "square",
        "cbrt",
        "expm1",
        "softsign",
        "hard_sigmoid",
        "BlockGrad",
        "make_loss",
        "abs",
        "exp",
        "erf",
        "floor",
        "ceil",
        "round",
        "trunc",
        "sign",
        "sigmoid",
        "negative",
        "zeros_like",
        "ones_like",
        "cos",
        "cosh",
        "sin",
        "sinh",
        "tan",
        "tanh",
        "_np_copy",
        "_npi_tanh",
    ]:
        yield _case(name, signed)
    for name in ["arccos", "arcsin", "arctanh"]:
        yield _case(name, small)
    for name in ["rsqrt", "rcbrt", "log2", "log10", "log1p", "reciprocal", "log", "sqrt"]:
        yield _case(name, positive)
    yield _case("arccosh", positive + 1)
    yield _renamed("_npi_copy", "_copy", signed)
    yield _case("smooth_l1", signed, scalar=1.5)
    yield _case("clip", signed, a_min=-0.5, a_max=0.7)
    whole = np.round(signed)
    for name in [
        "_equal",
        "_not_equal",
        "_greater",
        "_greater_equal",
        "_lesser",
        "_lesser_equal",
        "_maximum",
        "_minimum",
    ]:
        yield _case(name, whole, np.round(_tensor(2, 3, 4, seed=5, low=-2, high=2)))
    for name in ["elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div"]:
        yield _case(name, signed, positive)
    for name in [
        "add",
        "plus",
        "sub",
        "minus",
        "mul",
        "div",
        "mod",
        "maximum",
        "minimum",
        "equal",
        "not_equal",
        "greater",
        "greater_equal",
        "lesser",
        "lesser_equal",
    ]:
        yield _case(
            f"broadcast_{name}",
            whole,
            np.round(_tensor(2, 1, 4, seed=5, low=-2, high=2)) + 0.5 * (name in ("div", "mod")),
        )
    yield _case("broadcast_power", positive, _tensor(2, 1, 4))
    for name in ["or", "and", "xor"]:
        yield _case(f"broadcast_logical_{name}", whole, np.round(_tensor(2, 1, 4)))
    for name in ["add", "subtract", "multiply"]:
        yield _case(f"_npi_{name}", signed, positive)
    yield _case("_npi_power", positive, signed)
    for names, value in (
        ("_power_scalar", 1.5),
        ("_rminus_scalar _rdiv_scalar _plus_scalar _minus_scalar _mul_scalar _div_scalar", 1.5),
        (
            "_maximum_scalar _minimum_scalar _npi_add_scalar _npi_subtract_scalar _npi_multiply_scalar _npi_power_scalar",
            0.5,
        ),
        ("_npi_true_divide_scalar", 0.5),
        (
            "_equal_scalar _not_equal_scalar _greater_scalar _greater_equal_scalar _lesser_scalar _lesser_equal_scalar",
            1.0,
        ),
    ):
        for name in names.split():
            yield _case(name, np.ceil(positive) if "equal" in name or "er_" in name else positive, scalar=value)
    aliases = {"pow": "_power_scalar", "rsub": "_rminus_scalar", "rdiv": "_rdiv_scalar", "rpow": "_rpower_scalar"}
    aliases |= {"add": "_plus_scalar", "sub": "_minus_scalar", "mul": "_mul_scalar", "div": "_div_scalar"}
    for name, real in aliases.items():  # what older files call them
        yield _renamed(f"__{name}_scalar__", real, positive, scalar=1.5)
    yield _case("add_n", signed, positive, small)
    yield _case("where", whole, signed, positive)
    yield _case("where", _floats([1, 0]), signed, positive)
    yield _case("Cast", signed, dtype="int32")
    yield _case("amp_cast", signed, dtype="float16")
    yield Case("amp_multicast", "amp_multicast", partial(_multicast, signed, positive.astype("float16")))
    for name in ["mean", "max", "min", "sum", "max_axis", "min_axis", "sum_axis"]:
        yield _case(name, signed)
        yield _case(name, signed, axis=(0, 2))
        yield _case(name, signed, axis=1, keepdims=True)
    yield _case("sum", signed, axis=1, exclude=True)
    for name in ["argmax", "argmin"]:
        yield _case(name, signed, axis=1)
        yield _case(name, signed)
        yield _case(name, signed, axis=2, keepdims=True)


def _multicast(a: Value, b: Value) -> Pairs:
    """MXNet with oneDNN cannot run it on fp16, so that the oracle is its cast to the widest type."""
    import mxnet as mx

    symbol = mx.sym.amp_multicast(mx.sym.Variable("x0"), mx.sym.Variable("x1"), num_outputs=2)
    want = [mx.nd.amp_cast(mx.nd.array(one, dtype=one.dtype), dtype="float32").asnumpy() for one in (a, b)]
    return zip(_import(symbol, {"x0": a, "x1": b}, {}, []), want, strict=True)


def _renamed(operator: str, real: str, *data: Value, **attributes: Any) -> Case:
    """The symbol of `real`, in which the operator has another name."""

    def run() -> Pairs:
        import mxnet as mx
        from tessera import relay

        named = {f"x{i}": value for i, value in enumerate(data)}
        symbol = getattr(mx.sym._internal, real, None) or getattr(mx.sym, real)
        made = symbol(*[mx.sym.Variable(one) for one in named], **attributes)
        text = made.tojson().replace(f'"op": "{real}"', f'"op": "{operator}"')
        mod, held = relay.frontend.from_mxnet(text, {one: value.shape for one, value in named.items()})
        got = relay.create_executor("graph", mod).evaluate()(**named, **held).numpy()
        return [(got, _evaluate(made, named, {})[0])]

    return Case(operator, f"{operator} {attributes}", run)


def _shapes() -> Iterator[Case]:
    x, y = _tensor(2, 3, 4), _tensor(2, 3, 4, seed=3)
    image = _tensor(2, 4, 6, 8)
    for name in ("Reshape", "reshape"):
        for shape in ((0, -1), (-2,), (-3, 0), (0, -4, 1, 3, 0), (4, -1)):
            yield _case(name, x, shape=shape)
    yield _case("Reshape", image, shape=(-1, 0, 0), reverse=True)
    yield _case("_npx_reshape", x, newshape=(-2, -5))
    yield _case("_npx_reshape", image, newshape=(-2, -6, 2, 2, -4))
    yield _case("reshape_like", x, _tensor(4, 6))
    yield _case("reshape_like", x, _tensor(6, 5), lhs_begin=0, lhs_end=2, rhs_begin=0, rhs_end=1)
    for name in ("transpose", "_np_transpose"):
        yield _case(name, x)
        yield _case(name, x, axes=(1, 0, 2))
    yield _renamed("_npi_transpose", "transpose", x, axes=(1, 0, 2))
    yield _case("SwapAxis", x, dim1=0, dim2=2)
    yield _case("expand_dims", x, axis=1)
    yield _case("squeeze", _tensor(2, 1, 3, 1))
    yield _case("squeeze", _tensor(2, 1, 3, 1), axis=1)
    for name in ("Concat", "concat"):
        yield _case(name, x, y, dim=2)
    yield _case("stack", x, y, axis=1)
    yield _case("_npi_stack", x, y, axis=1, num_args=2)
    yield _case("_npi_concatenate", x, y, axis=1, num_args=2)
    yield _case("_rnn_param_concat", _tensor(5), _tensor(7), num_args=2, dim=0)
    for name in ("SliceChannel", "split"):
        yield _case(name, x, num_outputs=3, axis=1, squeeze_axis=True)
        yield _case(name, x, num_outputs=2, axis=2)
    yield _case("_split_v2", x, indices=(0, 1, 3), axis=2)
    yield _case("_split_v2", x, indices=(0,), sections=2, axis=2)
    yield _case("slice", x, begin=(0, None, 3), end=(2, -1, 0), step=(1, 1, -1))
    yield _case("slice_axis", x, axis=2, begin=1, end=None)
    yield _case("slice_axis", x, axis=1, begin=-2, end=-1)
    yield _case("slice_like", x, _tensor(1, 2, 3))
    yield _case("slice_like", x, _tensor(1, 2, 9), axes=(0, 1))
    yield _case("Crop", image, offset=(1, 2), h_w=(3, 4), num_args=1)
    yield _case("Crop", image, _tensor(2, 4, 3, 3), num_args=2, center_crop=True)
    yield _case("repeat", x, repeats=2, axis=1)
    yield _case("repeat", x, repeats=2)
    yield _case("tile", x, reps=(2, 1, 3))
    yield _case("broadcast_to", _tensor(2, 1, 4), shape=(0, 5, 4))
    for name in ("broadcast_axis", "broadcast_axes"):
        yield _case(name, _tensor(2, 1, 1), axis=(1, 2), size=(3, 4))
    yield _case("broadcast_like", _tensor(2, 1, 4), x)
    yield _case("broadcast_like", _tensor(2, 1, 1), x, lhs_axes=(1,), rhs_axes=(2,))
    for name in ("pad", "Pad"):
        yield _case(name, image, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 3, 0), constant_value=1.5)
        yield _case(name, image, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 3, 0))
        yield _case(name, image, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 3, 0))
    yield _case("_npi_pad", x, pad_width=((0, 1), (2, 0), (1, 1)), mode="constant", constant_value=2)
    yield _case("reverse", x, axis=(1,))
    yield _case("_zeros", shape=(2, 3), dtype="float32")
    yield _case("_ones", shape=(2, 3), dtype="int32")
    yield _case("_full", shape=(2, 3), dtype="float32", value=1.5)
    yield _case("_arange", start=1, stop=7.5, step=1.5, repeat=2)
    yield _case("_contrib_arange_like", x, start=2, step=0.5)
    yield _case("_contrib_arange_like", x, axis=1)
    yield _case("shape_array", x)
    yield _case("depth_to_space", image, block_size=2)
    yield _case("space_to_depth", image, block_size=2)
    yield _case("take", x, _floats([[0, 2], [5, -1]]), axis=1)
    yield _case("take", x, _floats([[0, 2], [5, -1]]), axis=1, mode="wrap")
    yield _case("gather_nd", x, _floats([[0, 1], [2, 0]]))
    yield _case("Embedding", _floats([[1, 2], [4, 0]]), _tensor(5, 3), input_dim=5, output_dim=3)
    yield _case("one_hot", _floats([1, 0, 2]), depth=4, on_value=2, off_value=-1)
    yield _case("argsort", x, axis=1)
    yield _case("argsort", x, is_ascend=False, dtype="int32")
    for kind in ("indices", "value", "both", "mask"):
        yield _case("topk", x, k=2, ret_typ=kind)
    yield _case("topk", x, k=2, axis=1, is_ascend=True)
    yield _case("_unravel_index", _floats([3, 7, 11]), shape=(3, 4))
    lengths = _floats([1, 3, 2])
    yield _case("SequenceMask", _tensor(4, 3, 2), lengths, use_sequence_length=True, value=-1)
    yield _case("SequenceReverse", _tensor(4, 3, 2), lengths, use_sequence_length=True)
    yield _case("SequenceReverse", _tensor(4, 3, 2))
    yield _case("_npi_where_rscalar", _floats([[1, 0, 1]]), _tensor(2, 3), scalar=3.0)
    for name in ("_npi_less", "_npi_less_equal"):
        yield _case(name, np.round(x * 2), np.round(y * 2))


def _layers() -> Iterator[Case]:
    x, image = _tensor(2, 3, 4), _tensor(2, 4, 9, 8)
    yield _case("FullyConnected", x, _tensor(5, 12), _tensor(5), num_hidden=5)
    yield _case("FullyConnected", x, _tensor(5, 4), num_hidden=5, no_bias=True, flatten=False)
    yield _case("dot", _tensor(3, 4), _tensor(5, 4), transpose_b=True)
    yield _case("dot", _tensor(4, 3), _tensor(4, 5), transpose_a=True)
    yield _case("batch_dot", x, _tensor(2, 5, 4), transpose_b=True)
    for kind in ["relu", "sigmoid", "tanh", "softrelu", "softsign"]:
        yield _case("Activation", x, act_type=kind)
    for kind in ["leaky", "elu", "selu", "gelu"]:
        yield _case("LeakyReLU", x, act_type=kind, slope=0.3)
    yield _case("LeakyReLU", image, _tensor(4), act_type="prelu")
    for name in ("softmax", "log_softmax", "softmin"):
        yield _case(name, x, axis=1, temperature=2.0)
    yield _case("SoftmaxActivation", _tensor(2, 5))
    yield _case("SoftmaxActivation", image, mode="channel")
    for name in ("SoftmaxOutput",):
        yield _case(name, _tensor(2, 5), _floats([1, 2]), labels=1)
        yield _case(name, image, _tensor(2, 9, 8), labels=1, multi_output=True)
    yield Case("Softmax", "Softmax", _softmax_by_its_old_name)
    yield _case("LinearRegressionOutput", _tensor(2, 5), _tensor(2, 5), labels=1)
    yield _case("LogisticRegressionOutput", _tensor(2, 5), _tensor(2, 5), labels=1)
    convolution: dict[str, Any] = {"kernel": (3, 2), "num_filter": 6, "stride": (2, 1), "pad": (1, 0)}
    yield _case("Convolution", image, _tensor(6, 4, 3, 2), _tensor(6), **convolution)
    yield _case(
        "Convolution", image, _tensor(6, 2, 3, 3), kernel=(3, 3), num_filter=6, num_group=2, dilate=(2, 2), no_bias=True
    )
    yield _case("Convolution", _tensor(2, 4, 9), _tensor(6, 4, 3), _tensor(6), kernel=(3,), num_filter=6)
    yield _case(
        "Convolution", _tensor(1, 2, 5, 6, 7), _tensor(3, 2, 2, 3, 2), _tensor(3), kernel=(2, 3, 2), num_filter=3
    )
    yield _renamed("Convolution_v1", "Convolution", image, _tensor(6, 4, 3, 2), _tensor(6), **convolution)
    shapes: list[dict[str, Any]] = [{}, {"adj": (1, 0)}, {"target_shape": (19, 9)}]
    for more in shapes:
        yield _case(
            "Deconvolution",
            image,
            _tensor(4, 3, 3, 2),
            kernel=(3, 2),
            num_filter=3,
            stride=(2, 1),
            pad=(1, 0) if "target_shape" not in more else (0, 0),
            **more,
        )
    yield _case(
        "Deconvolution", image, _tensor(4, 2, 3, 3), _tensor(4), kernel=(3, 3), num_filter=4, num_group=2, no_bias=False
    )
    for kind in ["max", "avg", "sum"]:
        for convention in ("valid", "full"):
            yield _case(
                "Pooling",
                image,
                kernel=(3, 2),
                stride=(2, 2),
                pad=(1, 0),
                pool_type=kind,
                pooling_convention=convention,
            )
        yield _case("Pooling", image, pool_type=kind, global_pool=True, kernel=(1, 1))
    yield _case("Pooling", image, kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False)
    yield _case("Pooling", _tensor(1, 2, 5, 6, 7), kernel=(2, 2, 2), stride=(2, 2, 2), pool_type="max")
    yield _renamed("Pooling_v1", "Pooling", image, kernel=(2, 2), stride=(2, 2), pool_type="max")
    yield _case("Dropout", x, p=0.5)
    norm = (_tensor(4, low=0.5), _tensor(4, seed=2))
    for name in ("BatchNorm", "_contrib_SyncBatchNorm"):
        keys: dict[str, Any] = {"key": "k"} if "Sync" in name else {}
        yield _case(name, image, *norm, aux=(_tensor(4), _tensor(4, low=0.5, high=2)), fix_gamma=False, **keys)
        yield _case(name, image, *norm, aux=(_tensor(4), _tensor(4, low=0.5, high=2)), **keys)
    yield _renamed_norm()
    yield _case("InstanceNorm", image, *norm)
    yield _case("LayerNorm", x, _tensor(4), _tensor(4, seed=2))
    yield _case("LayerNorm", x, _tensor(3), _tensor(3, seed=2), axis=1)
    yield _case("GroupNorm", image, _tensor(2), _tensor(2, seed=2), num_groups=2)
    yield _case("LRN", image, nsize=3, alpha=0.01)
    for mode in ["instance", "channel", "spatial"]:
        yield _case("L2Normalization", image, mode=mode)
    yield _case("_contrib_div_sqrt_dim", x)
    attention = _tensor(5, 2, 2 * 3 * 4)
    yield _case("_contrib_interleaved_matmul_selfatt_qk", attention, heads=2)
    yield _case("_contrib_interleaved_matmul_selfatt_valatt", attention, _tensor(4, 5, 5), heads=2)
    for mode, gates in (("rnn_relu", 1), ("rnn_tanh", 1), ("lstm", 4), ("gru", 3)):
        for layers, both in ((1, False), (2, True)):
            ways = 2 if both else 1
            size = sum(ways * gates * 3 * ((4 if i == 0 else 3 * ways) + 3 + 2) for i in range(layers))
            states = [_tensor(layers * ways, 2, 3, seed=i) for i in range(2 if mode == "lstm" else 1)]
            yield _case(
                "RNN",
                _tensor(5, 2, 4),
                _tensor(size),
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

    data = {"x": _tensor(2, 5), "label": _floats([1, 2])}
    made = mx.sym.SoftmaxOutput(mx.sym.Variable("x"), mx.sym.Variable("label"))
    text = made.tojson().replace('"op": "SoftmaxOutput"', '"op": "Softmax"')
    mod, _ = relay.frontend.from_mxnet(text, {"x": (2, 5), "label": (2,)})
    return [(relay.create_executor("graph", mod).evaluate()(data["x"]).numpy(), _evaluate(made, data, {})[0])]


def _renamed_norm() -> Case:
    def run() -> Pairs:
        import mxnet as mx
        from tessera import relay

        data = {"x": _tensor(2, 4, 3, 3), "n_gamma": _tensor(4), "n_beta": _tensor(4, seed=2)}
        aux = {"n_moving_mean": _tensor(4), "n_moving_var": _tensor(4, low=0.5, high=2)}
        made = mx.sym.BatchNorm(mx.sym.Variable("x"), name="n")
        text = made.tojson().replace('"op": "BatchNorm"', '"op": "BatchNorm_v1"')
        mod, held = relay.frontend.from_mxnet(
            text, {"x": (2, 4, 3, 3)}, "float32", {k: v for k, v in data.items() if k != "x"}, aux
        )
        got = relay.create_executor("graph", mod).evaluate()(data["x"], **held).numpy()
        return [(got, _evaluate(made, data, aux)[0])]

    return Case("BatchNorm_v1", "BatchNorm_v1", run)


def _images() -> Iterator[Case]:
    image = _tensor(1, 4, 8, 8)
    yield _case("UpSampling", image, scale=2, sample_type="nearest")
    yield _case("UpSampling", image, _tensor(4, 1, 4, 4), scale=2, sample_type="bilinear", num_filter=4, num_args=2)
    yield _case("_contrib_BilinearResize2D", image, height=12, width=5)
    yield _case("_contrib_AdaptiveAvgPooling2D", image, output_size=(3, 5))
    yield _case(
        "Correlation",
        image,
        _tensor(1, 4, 8, 8, seed=4),
        kernel_size=1,
        max_displacement=2,
        stride1=1,
        stride2=1,
        pad_size=2,
    )
    yield _case("GridGenerator", _tensor(1, 6), transform_type="affine", target_shape=(5, 6))
    yield _case("GridGenerator", _tensor(1, 2, 5, 6), transform_type="warp")
    yield _case("BilinearSampler", image, _tensor(1, 2, 5, 6))
    regions = _floats([[0, 1, 1, 6, 5], [0, 0, 2, 7, 7]])
    yield _case("ROIPooling", image, regions, pooled_size=(3, 3), spatial_scale=1.0)
    yield _case("_contrib_ROIAlign", image, regions, pooled_size=(3, 3), spatial_scale=0.5, sample_ratio=2)
    yield _case(
        "_contrib_DeformableConvolution",
        image,
        _tensor(1, 18, 6, 6),
        _tensor(3, 4, 3, 3),
        _tensor(3),
        kernel=(3, 3),
        num_filter=3,
    )
    yield _case("_contrib_MultiBoxPrior", image, sizes=(0.5, 0.3), ratios=(1, 2))
    corners = np.sort(_tensor(1, 12, 2, 2, low=0, high=10), axis=2).reshape(1, 12, 4)
    boxes = np.concatenate(
        [np.round(_tensor(1, 12, 1, low=0, high=2)), _tensor(1, 12, 1, seed=3, low=0), corners], axis=2
    )
    yield _case("_contrib_box_nms", boxes, overlap_thresh=0.3, valid_thresh=0.2, id_index=0)
    yield _case("_contrib_box_nms", boxes, overlap_thresh=0.3, force_suppress=True, out_format="center")
    yield _case(
        "_contrib_box_decode", _tensor(2, 5, 4), _tensor(1, 5, 4, low=1, high=2), std0=0.1, std1=0.1, std2=0.2, std3=0.2
    )
    anchors = np.sort(_tensor(1, 6, 2, 2, low=0.0), axis=2).reshape(1, 6, 4)
    scores = np.abs(_tensor(1, 3, 6)) + 0.05
    yield _case(
        "_contrib_MultiBoxDetection",
        scores / scores.sum(1, keepdims=True),
        0.1 * _tensor(1, 24),
        anchors,
        nms_threshold=0.99,
    )
    for name in ("_contrib_Proposal", "_contrib_MultiProposal"):
        yield _case(
            name,
            np.abs(_tensor(1, 2 * 3, 4, 4)),
            0.1 * _tensor(1, 4 * 3, 4, 4),
            _floats([[64, 64, 1]]),
            scales=(2,),
            ratios=(0.5, 1, 2),
            rpn_pre_nms_top_n=30,
            rpn_post_nms_top_n=8,
            rpn_min_size=4,
        )


def _quantized() -> Iterator[Case]:
    x = _tensor(2, 4, 6, 6)

    def chain(
        operator: str, after: Callable[[Any, list[Any]], list[Any]], *data: Value, aux: tuple[Value, ...] = ()
    ) -> Case:
        in_integers = operator[len("_contrib_") :] in ("quantize_v2", "quantized_pooling", "quantized_batch_norm")

        def make(mx: Any, inputs: list[Any]) -> Any:
            made = after(mx, inputs)
            return mx.sym.Group(list(made)) if in_integers else mx.sym.contrib.dequantize(*made)

        return _symbol_case(operator, make, list(data or (x,)), list(aux))

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

    yield chain("_contrib_quantized_concat", concatenated, x, _tensor(2, 3, 6, 6))

    def normed(mx: Any, inputs: list[Any]) -> Any:
        made = list(quantize(mx, inputs[0]))
        limits = {"min_calib_range": -4.0, "max_calib_range": 4.0, "eps": 1e-3}
        return mx.sym.contrib.quantized_batch_norm(made[0], *inputs[1:], made[1], made[2], **limits)

    norm = (_tensor(4, low=0.5), _tensor(4, seed=2), _tensor(4, seed=3), _tensor(4, low=0.5, seed=4))
    yield chain("_contrib_quantized_batch_norm", normed, x, *norm, aux=norm[2:])


def _control() -> Iterator[Case]:
    def branch(mx: Any, i: list[Any]) -> Any:
        return mx.sym.contrib.cond(mx.sym.sum(i[0]) > 0, lambda: i[0] + i[1], lambda: i[0] * i[1])

    yield _symbol_case("_cond", branch, [_tensor(3, low=0.1), _tensor(3)], [], "then")
    yield _symbol_case("_cond", branch, [_tensor(3, high=-0.1), _tensor(3)], [], "else")

    def fused(mx: Any, symbol: Any) -> Any:
        return symbol.get_backend_symbol("MKLDNN")

    def conv(mx: Any, i: list[Any]) -> Any:
        made = mx.sym.Activation(mx.sym.Convolution(*i, kernel=(3, 3), num_filter=5), act_type="relu")
        return fused(mx, made)

    yield _symbol_case("_sg_mkldnn_conv", conv, [_tensor(1, 4, 6, 6), _tensor(5, 4, 3, 3), _tensor(5)], [])

    def dense(mx: Any, i: list[Any]) -> Any:
        return mx.sym.Activation(mx.sym.FullyConnected(*i, num_hidden=5), act_type="relu").get_backend_symbol(
            "MKLDNN_QUANTIZE"
        )

    yield _symbol_case("_sg_mkldnn_fully_connected", dense, [_tensor(2, 4), _tensor(5, 4), _tensor(5)], [])


def _buffers() -> Iterator[Case]:
    """What comes last stays: a buffer moves on by as much as the data has."""
    data, held = _tensor(2, 3, 4), _tensor(2, 5, 4, seed=3)

    def run(operator: str, data: Value, held: Value, *limits: Value) -> Pairs:
        from tessera import relay

        inputs = {f"x{i}": value for i, value in enumerate((data, held, *limits))}
        nodes: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in inputs]
        arguments = [[i, 0, 0] for i in range(len(inputs))]
        nodes.append({"op": operator, "name": "buffer", "inputs": arguments, "attrs": {"axis": "1"}})
        heads = [[len(inputs), i, 0] for i in range(1 + len(limits))]
        symbol = json.dumps({"nodes": nodes, "arg_nodes": list(range(len(inputs))), "heads": heads})
        types = {name: str(value.dtype) for name, value in inputs.items()}
        mod, _ = relay.frontend.from_mxnet(symbol, {name: value.shape for name, value in inputs.items()}, types)
        out = relay.create_executor("graph", mod).evaluate()(**inputs)
        got = [one.numpy() for one in out] if limits else [out.numpy()]
        return zip(got, [np.concatenate([held, data], 1)[:, data.shape[1] :], *limits], strict=True)

    yield Case("ring_buffer", "ring_buffer", lambda: run("ring_buffer", data, held))
    integers = [np.round(100 * one).astype("int8") for one in (data, held)]
    limits = [_floats([-1]), _floats([1])]
    name = "_contrib_quantized_ring_buffer"
    yield Case(name, name, lambda: run(name, *integers, *limits))


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _buffers()
    yield from _elementwise()
    yield from _shapes()
    yield from _layers()
    yield from _images()
    yield from _quantized()
    yield from _control()
