"""Operators of ONNX one by one: classes with v0.10's names, whose converters are the core's (src/frontend/onnx)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...error import OpAttributeInvalid
from ...ir import IRModule
from .. import op as _op
from .. import transform
from ..expr import Constant as RelayConstant
from ..expr import Expr, Tuple, TupleWrapper, Var, bind, const
from ..function import Function
from ..op.tensor import shape_of
from ..ty import Any as AnyExtent
from ..ty import TensorType

_MICROSOFT, _ML, _TRAINING = "com.microsoft", "ai.onnx.ml", "ai.onnx.preview.training"


class onnx_input(list):
    """Inputs of a node; those that are left out at the end are None."""

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            count = item.stop if item.stop is not None else len(self)
            return onnx_input(self[i] for i in range(*item.indices(count)))
        if isinstance(item, int):
            return list.__getitem__(self, item) if item < len(self) else None
        raise TypeError(f"inputs are asked for by an integer or a slice, not {type(item).__name__}")


# ---- what files hold ---------------------------------------------------------------------------------------------


def get_numpy(tensor_proto: Any) -> np.ndarray:
    """The array of a tensor of a file."""
    from onnx import numpy_helper

    return numpy_helper.to_array(tensor_proto)


def get_type(elem_type: int) -> str:
    """The name of an element type."""
    from onnx import TensorProto, helper

    if elem_type == TensorProto.BFLOAT16:
        return "bfloat16"
    return str(helper.tensor_dtype_to_np_dtype(elem_type))


def get_info(info_proto: Any) -> tuple[str, list[Any], str | None, list[Any]]:
    """Name, shape (an extent that is not known is `relay.Any()`), element type, and extents by number or name."""
    shape: list[Any] = []
    names: list[Any] = []
    for dim in info_proto.type.tensor_type.shape.dim:
        is_known = dim.dim_value not in (None, 0)
        shape.append(dim.dim_value if is_known else AnyExtent())
        names.append(dim.dim_value if is_known else dim.dim_param)
    element = info_proto.type.tensor_type.elem_type
    return info_proto.name, shape, get_type(element) if element else None, names


# ---- windows -----------------------------------------------------------------------------------------------------


def get_pad_pair(input1d: int, kernel1d: int, stride1d: int, mode: str) -> list[int]:
    """What is padded before and after one dimension so that windows cover it; the odd one goes to where `mode` says."""
    rest = input1d % stride1d
    pad = max(kernel1d - (rest or stride1d), 0)
    less, more = pad // 2, pad - pad // 2
    return [more, less] if "LOWER" in mode else [less, more]


def onnx_default_layout(dims: int, op_name: str) -> str:
    """The layout of data with so many spatial dimensions."""
    layouts = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
    if dims not in layouts:
        raise OpAttributeInvalid(f"{op_name} takes one to three spatial dimensions, not {dims}")
    return layouts[dims]


def onnx_storage_order2layout(storage_order: int, dims: int, op_name: str) -> str:
    """The layout of data that lies row by row (0) or with its channels last."""
    if storage_order == 0:
        return onnx_default_layout(dims, op_name)
    layout = onnx_default_layout(dims, op_name)
    return layout.replace("C", "") + "C"


def revert_caffe2_pad(pads: Any) -> Any:
    """One pad for each of two dimensions, from those of both sides."""
    if len(pads) == 4:
        return pads[:2]
    if len(pads) != 2:
        raise OpAttributeInvalid(f"there must be 2 or 4 pads, not {len(pads)}")
    return pads


def dimension_picker(prefix: str, suffix: str = "") -> Callable[[Any], str]:
    """The name of an operator by the dimensions of its kernel: `prefix` 2d `suffix`."""

    def pick(attr: Any) -> str:
        kernel = attr["kernel_shape"]
        if not 1 <= len(kernel) <= 3:
            raise OpAttributeInvalid(f"{prefix} has kernels of one to three dimensions, not {len(kernel)}")
        return f"{prefix}{len(kernel)}d{suffix}"

    return pick


def dimension_constraint() -> tuple[Callable[[Any], bool], str]:
    """Whether a kernel has one to three dimensions, and what to say where it has not."""
    return lambda attrs: len(attrs["kernel_shape"]) in (1, 2, 3), "Only 1d, 2d and 3d kernel supported."


# ---- expressions -------------------------------------------------------------------------------------------------


def _type_of(expr: Expr) -> Any:
    """The type of an expression with its free variables."""
    return transform.InferType()(IRModule.from_expr(expr))["main"].body.checked_type


def get_scalar(x: Any, params: dict[str, Any], dtype: str = "float32") -> Expr:
    """An input of one element as a number."""
    if isinstance(x, Var) and x.name_hint in params:
        return const(params[x.name_hint].numpy().reshape(()), dtype)
    rank = len(_type_of(x).shape)
    if rank > 1:
        raise ValueError(f"a number has at most one dimension, not {rank}")
    return _op.cast(_op.squeeze(x, axis=[0]) if rank else x, dtype)


def get_scalar_or_1d_tensor(x: Any, params: dict[str, Any], dtype: str = "float32") -> Expr:
    """An input of one element as a number; a longer vector as it is."""
    if isinstance(x, Var) and x.name_hint in params:
        return const(params[x.name_hint].numpy(), dtype)
    shape = list(_type_of(x).shape)
    if len(shape) > 1:
        raise ValueError(f"a number or a vector has at most one dimension, not {len(shape)}")
    is_one = len(shape) == 1 and getattr(shape[0], "value", None) == 1
    return _op.cast(_op.squeeze(x, axis=[0]) if is_one else x, dtype)


def normalize_gather_indices(data: Expr, indices: Expr, axis: int) -> Expr:
    """Indices from the front."""
    dtype = str(_type_of(indices).dtype)
    extent = _op.take(shape_of(data, dtype=dtype), const(axis, "int64"), axis=0)
    return _op.where(_op.less(indices, const(0, dtype)), indices + extent, indices)


def layer_norm(x: Expr, eps: Any, gamma: Any, beta: Any) -> Expr:
    """Over the last axis: (x - mean) / sqrt(variance + eps), times gamma plus beta where they are given."""
    dtype = str(_type_of(x).dtype)
    mean = _op.mean(x, axis=-1, keepdims=True)
    variance = _op.variance(x, axis=-1, keepdims=True, with_mean=mean)
    out = (x - mean) / _op.sqrt(variance + const(1e-12 if eps is None else eps, dtype))
    out = out if gamma is None else out * gamma
    return out if beta is None else out + beta


def matmul_out_dtype(inputs: Any, out_dtype: str) -> Expr:
    """The matmul of two tensors of any ranks, whose sums are of `out_dtype`."""
    wide = [x if str(_type_of(x).dtype) == out_dtype else _op.cast(x, out_dtype) for x in inputs[:2]]
    return MatMul.get_converter(13)(wide, {}, {})


# ---- converters --------------------------------------------------------------------------------------------------


def _known_value(expr: Any, params: dict[str, Any]) -> np.ndarray | None:
    if isinstance(expr, RelayConstant):
        return expr.data.numpy()
    if isinstance(expr, Var) and expr.name_hint in params:
        return params[expr.name_hint].numpy()
    return None


def _convert(op: str, domain: str, opset: int, inputs: Any, attr: dict[str, Any], params: dict[str, Any]) -> Any:
    """A model of one node, imported, with its inputs replaced by expressions."""
    from onnx import helper, numpy_helper

    from .onnx import import_model

    custom = attr.get("tvm_custom", {})
    attributes = {key: value for key, value in attr.items() if key != "tvm_custom"}
    names: list[str] = []
    infos, initializers, given = [], [], {}
    for i, value in enumerate(inputs):
        names.append("" if value is None else f"x{i}")
        known = _known_value(value, params) if value is not None else None
        if value is None:
            continue
        if known is not None:
            initializers.append(numpy_helper.from_array(np.ascontiguousarray(known), names[-1]))
            continue
        kind = _type_of(value)
        if not isinstance(kind, TensorType):
            raise OpAttributeInvalid(f"{op}: input {i} is {kind}; a converter takes tensors")
        element = helper.np_dtype_to_tensor_dtype(np.dtype(str(kind.dtype)))
        infos.append(
            helper.make_tensor_value_info(names[-1], element, [getattr(extent, "value", None) for extent in kind.shape])
        )
        given[names[-1]] = value
    outputs = [f"y{i}" for i in range(int(custom.get("num_outputs", attributes.pop("num_outputs", 1))))]
    node = helper.make_node(op, names, outputs, name=custom.get("name", ""), domain=domain, **attributes)
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "node", infos, results, initializers)
    sets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    mod, _, _ = import_model(helper.make_model(graph, opset_imports=sets), None, {}, None, True, {})
    main = mod["main"]
    body = bind(main.body, {param: given[param.name_hint] for param in main.params})
    return TupleWrapper(body, len(outputs)) if isinstance(body, Tuple) or len(outputs) > 1 else body


class OnnxOpConverter:
    """One operator of ONNX. `get_converter(opset)` gives a function of inputs, attributes and parameters."""

    #: Name and domain of the operator in ONNX; the name of the class where it is empty.
    operator, domain = "", ""

    @classmethod
    def get_converter(cls, opset: int) -> Callable[..., Any]:
        """convert(inputs, attr, params) of the version of the operator that the opset has."""

        def convert(inputs: Any, attr: dict[str, Any], params: dict[str, Any] | None = None) -> Any:
            return _convert(cls.operator or cls.__name__, cls.domain, opset, inputs, attr, params or {})

        return convert


class _Formula(OnnxOpConverter):
    """An operator that ONNX has given up: its formula is written here."""

    @staticmethod
    def formula(x: Any, attr: dict[str, Any]) -> Expr:
        """The result for the first input."""
        raise NotImplementedError

    @classmethod
    def get_converter(cls, opset: int) -> Callable[..., Any]:
        """convert(inputs, attr, params), the same in all versions."""
        del opset
        return lambda inputs, attr, params=None: cls.formula(inputs[0], attr)


class Affine(_Formula):
    """alpha * x + beta."""

    @staticmethod
    def formula(x: Any, attr: dict[str, Any]) -> Expr:
        """The result for the first input."""
        return const(attr.get("alpha", 1.0)) * x + const(attr.get("beta", 0.0))


class Scale(_Formula):
    """x * scale."""

    @staticmethod
    def formula(x: Any, attr: dict[str, Any]) -> Expr:
        """The result for the first input."""
        return x * const(attr.get("scale", 1.0))


class ScaledTanh(_Formula):
    """alpha * tanh(beta * x)."""

    @staticmethod
    def formula(x: Any, attr: dict[str, Any]) -> Expr:
        """The result for the first input."""
        return _op.tanh(const(float(attr.get("beta", 1.0))) * x) * const(float(attr.get("alpha", 1.0)))


class ParametricSoftPlus(_Formula):
    """alpha * log(exp(beta * x) + 1)."""

    @staticmethod
    def formula(x: Any, attr: dict[str, Any]) -> Expr:
        """The result for the first input."""
        power = _op.exp(const(float(attr.get("beta", 1.0))) * x)
        return _op.log(power + const(1.0)) * const(float(attr.get("alpha", 1.0)))


class Unary(OnnxOpConverter):
    """Operators of one input, element by element."""


class Elemwise(OnnxOpConverter):
    """Operators of two inputs that are broadcast to each other."""


class Pool(OnnxOpConverter):
    """Operators over windows."""


class RNN(OnnxOpConverter):
    """Recurrent layers."""


class Reduce(OnnxOpConverter):
    """Operators that reduce over axes."""

    #: The operator of Relay.
    name = ""

    @classmethod
    def run_calculation(cls, inputs: Any, axis: Any, keepdims: Any) -> Expr:
        """The reduction of the first input."""
        return getattr(_op, cls.name)(inputs[0], axis=axis, keepdims=bool(keepdims))


class Clip(OnnxOpConverter):
    """Values brought between two bounds."""

    @staticmethod
    def convert_attributes(inputs: Any, attr: dict[str, Any], params: dict[str, Any]) -> Expr:
        """By bounds that are attributes."""
        del params
        limits = np.finfo("float32")
        return _op.clip(inputs[0], attr.get("min", float(limits.min)), attr.get("max", float(limits.max)))


class LogSoftmax(OnnxOpConverter):
    """The logarithm of softmax."""

    @classmethod
    def run_calculation(cls, inputs: Any, attr: dict[str, Any], params: dict[str, Any], opset: int) -> Expr:
        """The result in the version of an opset."""
        return cls.get_converter(opset)(inputs, attr, params)


class Unsqueeze(OnnxOpConverter):
    """New axes of extent 1."""

    @classmethod
    def run_calculation(cls, tensor: Expr, axes: Any) -> Expr:
        """By axes that are known."""
        for axis in sorted(axes):
            tensor = _op.expand_dims(tensor, axis=axis, num_newaxis=1)
        return tensor


class GraphProto:
    """The importer of graphs, as v0.10 has it; `from_onnx` is the function."""

    def __init__(self, shape: Any, dtype: Any, freeze_params: bool = False) -> None:
        self._shape, self._dtype, self._freeze_params = shape, dtype, freeze_params
        self.opset: int | None = None

    def from_onnx(self, graph: Any, opset: int, get_output_expr: bool = False) -> Any:
        """A module and its parameters from a graph of an opset; or the expression of its results."""
        from onnx import helper

        from .onnx import from_onnx

        self.opset = opset
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        mod, params = from_onnx(model, self._shape, self._dtype, freeze_params=self._freeze_params)
        return mod["main"].body if get_output_expr else (mod, params)

    def freeze(self, func: Function, params: dict[str, Any]) -> tuple[Function, dict[str, Any]]:
        """The function with its parameters as constants, and none that are left."""
        from ..build_module import bind_params_by_name

        bound = bind_params_by_name(func, params)
        inputs = [param for param in func.params if param.name_hint not in params]
        return Function(inputs, bound.body, func.ret_type, func.type_params, func.attrs), {}


#: Base, domain, and classes as `Class` or `Class=Operator`.
_CLASSES: list[tuple[type, str, str]] = [
    (
        OnnxOpConverter,
        "",
        "ATen ArgMax ArgMin BatchNorm=BatchNormalization BitShift Cast Celu Compress Concat ConcatFromSequence Constant "
        "ConstantOfShape Conv ConvInteger ConvTranspose CumSum DepthToSpace DequantizeLinear DynamicQuantizeLinear Einsum "
        "Elu Erf Expand EyeLike Flatten Gather GatherElements GatherND Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool "
        "HardSigmoid HardSwish Hardmax If InstanceNorm=InstanceNormalization IsInf LRN Loop LpPool MatMul MatMulInteger "
        "MaxRoiPool MaxUnpool Maximum=Max Mean MeanVarianceNormalization Minimum=Min Mod Multinomial "
        "NegativeLogLikelihoodLoss NonMaxSuppression NonZero OneHot Pad Pow Prelu=PRelu QLinearConv QLinearMatMul "
        "QuantizeLinear RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 "
        "ReduceLogSum ReduceSumSquare Reshape Resize ReverseSequence RoiAlign Round Scan Scatter ScatterND Selu "
        "SequenceConstruct SequenceInsert Shape Shrink Sign Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign "
        "SpaceToDepth Split Squeeze Sum ThresholdedRelu TopK Trilu Unique Upsample Where",
    ),
    (Unary, "", "Absolute=Abs"),
    (Elemwise, "", "Add And Div Equal Mul Not Or Sub Tile"),
    (Pool, "", "AveragePool MaxPool"),
    (RNN, "", "GRU LSTM"),
    (Reduce, "", "ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum"),
    (
        OnnxOpConverter,
        _MICROSOFT,
        "Attention BiasGelu EmbedLayerNormalization Gelu MatMulInteger16 QLinearAdd QLinearConcat "
        "QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid SkipLayerNormalization",
    ),
    (Pool, _MICROSOFT, "QLinearAveragePool"),
    (OnnxOpConverter, _ML, "LinearRegressor"),
    (OnnxOpConverter, _TRAINING, "Adagrad Adam Momentum"),
]


def _define(base: type, domain: str, text: str) -> None:
    name, _, operator = text.partition("=")
    body: dict[str, Any] = {"__module__": __name__, "operator": operator or name, "domain": domain}
    body["__doc__"] = f"The operator {operator or name}{f' of {domain}' if domain else ''}."
    if base is Reduce:
        body["name"] = {"LogSumExp": "logsumexp"}.get(name[6:], name[6:].lower())
    globals()[name] = type(name, (base,), body)


for _base, _domain, _texts in _CLASSES:
    for _text in _texts.split():
        _define(_base, _domain, _text)

MatMul: type[OnnxOpConverter] = globals()["MatMul"]
__all__ = [
    *(name for name, value in globals().items() if isinstance(value, type) and issubclass(value, OnnxOpConverter)),
    "GraphProto",
    "dimension_constraint",
    "dimension_picker",
    "get_info",
    "get_numpy",
    "get_pad_pair",
    "get_scalar",
    "get_scalar_or_1d_tensor",
    "get_type",
    "layer_norm",
    "matmul_out_dtype",
    "normalize_gather_indices",
    "onnx_default_layout",
    "onnx_input",
    "onnx_storage_order2layout",
    "revert_caffe2_pad",
]
__all__ = [name for name in __all__ if not name.startswith("_")]
