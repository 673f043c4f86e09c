"""Models cut for oneDNN: contractions with their epilogues, pooling, and what stands between them.

Tensors are float32 or bf16, or int8 in layers that `legalize_qnn_for_dnnl` made; of fixed shapes, in layouts without blocks: the
library chooses its own formats inside a function.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from ...._ffi.registry import get_global_func
from ....ir import IRModule, Op, register_op_attr
from ....ir.transform import PassContext, Sequential
from ....target import Target
from ... import transform
from ...dataflow_pattern import is_constant, is_op, wildcard
from ...expr import Call, Constant, Tuple, TupleGetItem
from ...expr_functor import ExprVisitor
from ._partition import bound, static_shape
from .dnnl_qnn import legalize_qnn_for_dnnl, make_qnn_conv2d_pattern, make_qnn_dense_pattern, quantized_patterns
from .dnnl_rewrites import (
    DenseReshapeBiasGeluRewrite,
    LayerNormRewrite,
    rewrite_dense_bias_gelu_reshape_last,
    rewrite_layer_norm,
)
from .register import get_pattern_table, register_pattern_table

__all__ = [
    "DenseReshapeBiasGeluRewrite",
    "IsComputeIntensiveGraph",
    "LayerNormRewrite",
    "add_checker",
    "alter_conv",
    "alter_conv_transpose",
    "append_eltwise_ops",
    "get_args",
    "get_attrs",
    "get_dtype",
    "get_op_name",
    "get_shape",
    "is_dnnl_available",
    "is_valid_subgraph",
    "legalize_group_conv",
    "legalize_pad_avg_pool",
    "legalize_qnn_for_dnnl",
    "make_bias_add_pattren_predicate",
    "make_conv_bias_sum_relu_pattern",
    "make_conv_pattern",
    "make_dense_pattern",
    "make_dnnl_pattern",
    "make_qnn_conv2d_pattern",
    "make_qnn_dense_pattern",
    "make_sum_pattren_predicate",
    "partition_for_dnnl",
    "pattern_table",
    "prune_dnnl_subgraphs",
    "rewrite_dense_bias_gelu_reshape_last",
    "rewrite_layer_norm",
]

_CONVS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
_DECONVS = ("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
_ELTWISE = ("nn.relu", "tanh", "sigmoid", "clip", "gelu", "swish", "mish")
#: Operators of an activation that is written out, from the outside to its argument.
_FORMULAS: dict[str, list[tuple[str, ...]]] = {
    "swish": [("sigmoid",)],
    "mish": [("tanh",), ("log",), ("add",), ("exp",)],
    "gelu": [("erf",), ("divide", "multiply")],
}
_BINARY = ("add", "multiply", "subtract", "divide", "maximum", "minimum")


def is_dnnl_available() -> bool:
    """True when the library is there: compiled functions can run."""
    return bool(get_global_func("tessera.dnnl.is_available")())


# ---- what is asked of an expression ---------------------------------------------------------------------------------


def get_op_name(expr: Any) -> str:
    """The operator that an expression calls; the name of its composite function; "" of others."""
    if isinstance(expr, Op):
        return expr.name
    if isinstance(expr, Call):
        return get_op_name(expr.op)
    if isinstance(expr, TupleGetItem):
        return get_op_name(expr.tuple_value)
    if isinstance(expr, Tuple):
        return get_op_name(expr.fields[0])
    return ""


def get_args(expr: Any) -> Any:
    """The arguments of a call, also where one of its results is taken."""
    if isinstance(expr, Call):
        return expr.args
    if isinstance(expr, TupleGetItem):
        return get_args(expr.tuple_value)
    if isinstance(expr, Tuple):
        return [arg for field in expr.fields for arg in get_args(field)]
    return []


def get_attrs(expr: Any) -> Any:
    """The attributes of a call, also where one of its results is taken."""
    if isinstance(expr, Call):
        return expr.attrs
    return get_attrs(expr.tuple_value) if isinstance(expr, TupleGetItem) else {}


def get_shape(tensor: Any) -> Any:
    """The shape of a typed expression."""
    return tensor.checked_type.shape if hasattr(tensor, "checked_type") else tensor.shape


def get_dtype(tensor: Any) -> str:
    """The element type of a typed expression."""
    return str(tensor.checked_type.dtype if hasattr(tensor, "checked_type") else tensor.dtype)


def _tensors(type_: Any) -> list[Any]:
    return [part for field in type_.fields for part in _tensors(field)] if hasattr(type_, "fields") else [type_]


@functools.cache
def _float_types() -> tuple[str, ...]:
    """float32, and bf16 where this CPU has the instructions that the library wants for it."""
    machine_of = get_global_func("topi.cpu.machine_of")
    has_bf16 = "avx512bw" in [str(feature) for feature in machine_of(Target("llvm")).features]
    return ("float32", "bfloat16") if has_bf16 else ("float32",)


def _is_taken_type(expr: Any) -> bool:
    """Tensors of floats that have elements, of one to six dimensions."""
    for tensor in _tensors(expr.checked_type):
        if str(getattr(tensor, "dtype", "")) not in _float_types():
            return False
        try:
            shape = [int(extent) for extent in tensor.shape]
        except (TypeError, ValueError):
            return False
        if not 1 <= len(shape) <= 6 or 0 in shape:
            return False
    return True


def _types_fit(call: Any) -> bool:
    """Arguments of one type; contractions of bf16 may give float32."""
    parts = [call, *call.args]
    if not all(_is_taken_type(part) for part in parts):
        return False
    given = {get_dtype(arg) for arg in call.args}
    result = get_dtype(call)
    is_sum = call.op.name in (*_CONVS, *_DECONVS, "nn.dense", "nn.matmul", "nn.batch_matmul")
    return len(given) == 1 and (result in given or (is_sum and result == "float32"))


def _is_plain_layout(call: Any) -> bool:
    """No blocks as in NCHW8c, and nothing but batch, channels and window."""
    for name, letters in (
        ("data_layout", "NCDHW"),
        ("layout", "NCDHW"),
        ("out_layout", "NCDHW"),
        ("kernel_layout", "OIDHW"),
    ):
        layout = str(getattr(call.attrs, name, "") or "")
        if any(letter not in letters for letter in layout):
            return False
    return True


# ---- single operators -----------------------------------------------------------------------------------------------


def add_checker(attrs: Any, args: Any, op_name: str) -> bool:
    """True when what is added is a residual: a tensor of the same shape, of more than one element."""
    del attrs
    left, right = static_shape(args[0]), static_shape(args[1])
    return op_name == "sum" and left is not None and left == right and any(extent != 1 for extent in left)


def _conv_fits(call: Any) -> bool:
    return _types_fit(call) and _is_plain_layout(call)


def _pool_fits(call: Any) -> bool:
    """Averages whose windows reach over the border by `ceil_mode` are counted in another way by the library."""
    if not _types_fit(call) or not _is_plain_layout(call):
        return False
    is_average = "avg" in call.op.name and not call.op.name.startswith("nn.global")
    if is_average and bool(call.attrs.ceil_mode):
        return False
    if call.op.name.startswith("nn.global"):
        return True
    pads, window = [int(p) for p in call.attrs.padding], [int(s) for s in call.attrs.pool_size]
    return all(pad < max(window) for pad in pads)


def _binary_fits(call: Any) -> bool:
    """One operand has the shape of the result: the first, where the order matters."""
    if not _types_fit(call):
        return False
    out, left, right = static_shape(call), *(static_shape(arg) for arg in call.args)
    if out is None or left is None or right is None or not left or not right:
        return False
    return left == out or (right == out and call.op.name not in ("subtract", "divide"))


def _layer_norm_fits(call: Any) -> bool:
    shape = static_shape(call.args[0])
    return _types_fit(call) and shape is not None and int(call.attrs.axis) % len(shape) == len(shape) - 1


def _matmul_fits(call: Any) -> bool:
    return _types_fit(call) and not bool(getattr(call.attrs, "transpose_a", False))


def _concatenate_fits(call: Any) -> bool:
    parts = getattr(call.args[0], "fields", None)
    return parts is not None and len(parts) > 1 and all(_is_taken_type(part) for part in parts)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys((*_CONVS, *_DECONVS), _conv_fits),
    "nn.dense": _types_fit,
    "nn.matmul": _matmul_fits,
    "nn.batch_matmul": _types_fit,
    **dict.fromkeys((f"nn.{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3)), _pool_fits),
    "nn.global_avg_pool2d": _pool_fits,
    "nn.global_max_pool2d": _pool_fits,
    **dict.fromkeys(("abs", "clip", "exp", "log", "sqrt", "round", "tanh", "sigmoid"), _types_fit),
    **dict.fromkeys(("nn.relu", "nn.leaky_relu", "nn.softmax", "nn.log_softmax"), _types_fit),
    **dict.fromkeys(_BINARY, _binary_fits),
    "nn.layer_norm": _layer_norm_fits,
    "concatenate": _concatenate_fits,
}

for _name, _check in _CHECKS.items():
    register_op_attr(_name, "target.dnnl", _check)


# ---- patterns -------------------------------------------------------------------------------------------------------


def append_eltwise_ops(op: Any, eltwise: str | None) -> Any:
    """A pattern followed by an activation."""
    if eltwise in (None, ""):
        return op
    if eltwise == "gelu":
        scaled = is_op("divide")(op, is_constant()) | is_op("multiply")(op, is_constant())
        one_more = is_op("add")(is_op("erf")(scaled), is_constant())
        half = is_constant()
        forms = is_op("multiply")(is_op("multiply")(op, one_more), half)
        return forms | is_op("multiply")(op, is_op("multiply")(one_more, half))
    if eltwise == "swish":
        return is_op("multiply")(op, is_op("sigmoid")(op))
    if eltwise == "mish":
        soft_plus = is_op("log")(is_op("add")(is_op("exp")(op), is_constant()))
        return is_op("multiply")(op, is_op("tanh")(soft_plus))
    return is_op(str(eltwise))(op)


def _with_bias(op: Any, with_bias: bool) -> Any:
    if not with_bias:
        return op
    bias = wildcard()
    return is_op("add")(op, bias) | is_op("nn.bias_add")(op, bias)


def make_conv_pattern(conv_name: str, with_bias: bool = True, with_eltwise: str | None = None) -> Any:
    """A convolution, with a bias and an activation where they are asked for."""
    return append_eltwise_ops(_with_bias(is_op(conv_name)(wildcard(), wildcard()), with_bias), with_eltwise)


def make_conv_bias_sum_relu_pattern(conv_type: str, has_relu: bool = True) -> Any:
    """A convolution with a bias, to which a tensor is added, as at the end of a residual block."""
    out = is_op("add")(_with_bias(is_op(conv_type)(wildcard(), wildcard()), True), wildcard())
    return is_op("nn.relu")(out) if has_relu else out


def make_dense_pattern(with_bias: bool = True, with_eltwise: str | None = None) -> Any:
    """A dense layer, with a bias and an activation where they are asked for."""
    return append_eltwise_ops(_with_bias(is_op("nn.dense")(wildcard(), wildcard()), with_bias), with_eltwise)


def _other(call: Any, is_wanted: Callable[[Any], bool]) -> tuple[Any, Any]:
    """The operand of a call of two that is wanted, and the other one; nothing where none is."""
    left, right = call.args
    if is_wanted(left):
        return left, right
    return (right, left) if is_wanted(right) else (None, None)


def _calls(expr: Any, *names: str) -> bool:
    return isinstance(expr, Call) and get_op_name(expr) in names


def _before_eltwise(expr: Any, eltwise: str | None) -> Any:
    """What an activation is applied to; None where the expression is another."""
    if eltwise is None:
        return expr
    if eltwise in _FORMULAS:
        first, *rest = _FORMULAS[eltwise]
        for part in _within(expr, *first):
            for names in (first, *rest):
                if not _calls(part, *names):
                    return None
                part = part.args[1] if isinstance(part.args[0], Constant) else part.args[0]
            return part
        return None
    return expr.args[0] if _calls(expr, eltwise) else None


def _within(expr: Any, name: str) -> list[Any]:
    """Calls of an operator in the few element-wise operators that an expression ends with."""
    if _calls(expr, name):
        return [expr]
    if not _calls(expr, "multiply", "add"):
        return []
    return [found for arg in expr.args if _calls(arg, name, "multiply", "add") for found in _within(arg, name)]


def _before_bias(expr: Any, op_name: str) -> tuple[Any, Any]:
    """The contraction and the bias of an addition; nothing where it is none."""
    if not _calls(expr, "add", "nn.bias_add"):
        return None, None
    return _other(expr, lambda part: _calls(part, op_name))


def _bias_fits(root: Any, call: Any, given: Any) -> bool:
    """One number for each output channel."""
    out, bias = static_shape(root), static_shape(given)
    if bias is None or out is None:
        return False
    if root.op.name == "nn.dense":
        axis = len(out) - 1
    else:
        axis = (str(root.attrs.out_layout or "") or str(root.attrs.data_layout)).index("C")
    if get_op_name(call) == "nn.bias_add":
        return int(call.attrs.axis) % len(out) == axis and bias == [out[axis]]
    full = [1] * (len(out) - len(bias)) + bias
    return len(full) == len(out) and all(extent == (out[i] if i == axis else 1) for i, extent in enumerate(full))


def make_bias_add_pattren_predicate(checker: Callable[..., bool]) -> Callable[[Any], bool]:
    """A check of a match by `checker(attrs, args, "bias_add")` of the addition nearest to the contraction."""

    def predicate(expr: Any) -> bool:
        call = expr
        while isinstance(call, Call) and get_op_name(call) not in ("add", "nn.bias_add"):
            call = call.args[0]
        return isinstance(call, Call) and bool(checker(call.attrs, call.args, "bias_add"))

    return predicate


def make_sum_pattren_predicate(checker: Callable[..., bool]) -> Callable[[Any], bool]:
    """A check of a match by `checker(attrs, args, "sum")` of the last addition."""

    def predicate(expr: Any) -> bool:
        call = expr
        while isinstance(call, Call) and get_op_name(call) != "add":
            call = call.args[0]
        return isinstance(call, Call) and bool(checker(call.attrs, call.args, "sum"))

    return predicate


def _constant_value(expr: Any) -> float | None:
    return float(expr.data.numpy()) if isinstance(expr, Constant) and not expr.data.shape else None


def _is_gelu(expr: Any) -> bool:
    """The constants of x / 2 * (1 + erf(x / sqrt(2)))."""
    found: set[float] = set()

    def visit(node: Any, depth: int) -> None:
        if depth == 0 or not _calls(node, "multiply", "divide", "add", "erf"):
            return
        for arg in node.args:
            value = _constant_value(arg)
            if value is not None:
                found.add(round(value, 4))
            visit(arg, depth - 1)

    visit(expr, 5)
    return sorted(found) in ([0.5, 0.7071, 1.0], [0.5, 1.0, 1.4142])


def _match_check(op_name: str, with_bias: bool, with_eltwise: str | None, with_sum: bool = False) -> Any:
    def check(expr: Any) -> bool:
        if not _is_taken_type(expr) or (with_eltwise == "gelu" and not _is_gelu(expr)):
            return False
        inner = _before_eltwise(expr, with_eltwise)
        if with_sum:
            if not _calls(inner, "add") or not add_checker(inner.attrs, inner.args, "sum"):
                return False
            inner, _ = _other(inner, lambda part: _before_bias(part, op_name)[0] is not None)
        if with_bias:
            added = inner
            inner, bias = _before_bias(added, op_name)
            if inner is None or not _bias_fits(inner, added, bias):
                return False
        return _calls(inner, op_name) and _CHECKS[op_name](inner)

    return check


def make_dnnl_pattern(op_name: str, with_bias: bool, with_eltwise: str | None) -> Any:
    """(name, pattern, check): "dnnl.conv2d_bias_relu" and the like; transposed convolutions are called deconv."""
    is_transposed = op_name in _DECONVS
    name = f"dnnl.deconv{op_name.split('_')[0][-2:]}" if is_transposed else op_name.replace("nn.", "dnnl.")
    name += ("_bias" if with_bias else "") + (f"_{with_eltwise.split('.')[-1]}" if with_eltwise else "")
    if op_name == "nn.dense":
        pattern = make_dense_pattern(with_bias, with_eltwise)
    elif op_name in (*_CONVS, *_DECONVS):
        pattern = make_conv_pattern(op_name, with_bias, with_eltwise)
    else:
        raise ValueError(
            f"no patterns begin with {op_name}; there are those of {', '.join((*_CONVS, *_DECONVS))}, nn.dense"
        )
    return name, pattern, _match_check(op_name, with_bias, with_eltwise)


@register_pattern_table("dnnl")
def pattern_table() -> list[tuple]:
    """(name, pattern, check) of what one primitive of oneDNN computes, the longest first."""
    table: list[tuple] = []
    for conv in ("nn.conv2d", "nn.conv3d", "nn.conv1d"):
        for has_relu in (True, False):
            name = conv.replace("nn.", "dnnl.") + "_bias_sum" + ("_relu" if has_relu else "")
            check = _match_check(conv, True, "nn.relu" if has_relu else None, with_sum=True)
            table.append((name, make_conv_bias_sum_relu_pattern(conv, has_relu), check))
    for with_bias in (True, False):
        for eltwise in (*_ELTWISE, None):
            if not with_bias and eltwise is None:
                continue
            for op in (*_CONVS, *_DECONVS, "nn.dense"):
                table.append(make_dnnl_pattern(op, with_bias, eltwise))
    return table + quantized_patterns()


# ---- passes ---------------------------------------------------------------------------------------------------------


class IsComputeIntensiveGraph(ExprVisitor):
    """Whether a function has operators that are worth a call of the library: contractions, pooling, reductions by rows."""

    _HEAVY = frozenset([*_CONVS, *_DECONVS, "nn.dense", "nn.batch_matmul", "nn.matmul", "nn.layer_norm"])

    def __init__(self) -> None:
        super().__init__()
        self.is_compute_intensive = False

    def visit_call(self, call: Call) -> Any:
        """Looks at one call."""
        if isinstance(call.op, Op) and call.op.name in self._HEAVY:
            self.is_compute_intensive = True
        return super().visit_call(call)

    def is_graph_compute_intensive(self, subgraph: Any) -> bool:
        """True when one of the calls is."""
        self.visit(subgraph)
        return self.is_compute_intensive


def is_valid_subgraph(body: Any) -> bool:
    """True when the body of a function is worth a call of the library."""
    return IsComputeIntensiveGraph().is_graph_compute_intensive(body)


def prune_dnnl_subgraphs(mod: IRModule) -> IRModule:
    """Functions without contractions go back to where they came from: our kernels fuse them with their neighbours."""
    names = [
        var
        for var, function in mod.functions.items()
        if function.attrs and str(function.attrs.get("Compiler", "")) == "dnnl" and not is_valid_subgraph(function.body)
    ]
    return transform.InferType()(transform.InlineCompilerFunctionsBoundTo(names)(mod))


def partition_for_dnnl(
    mod: IRModule, params: Any = None, alter_layout: bool = True, prune_subgraphs: bool = True
) -> IRModule:
    """The module with what oneDNN takes in functions of their own. Formats are chosen inside them: `alter_layout` changes nothing."""
    del alter_layout
    before = [
        transform.InferType(),
        transform.SimplifyInference(),
        transform.FoldConstant(),
        transform.FoldScaleAxis(),
        transform.FoldConstant(),
    ]
    passes = [
        transform.InferType(),
        transform.MergeComposite(get_pattern_table("dnnl")),
        transform.AnnotateTarget("dnnl"),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(),
        transform.InferType(),
    ]
    with PassContext(opt_level=3):
        out = Sequential(passes)(rewrite_layer_norm(Sequential(before)(bound(mod, params))))
    return prune_dnnl_subgraphs(out) if prune_subgraphs else out


def _call_again(attrs: Any, inputs: Any, name: str) -> Any:
    """The same call: the runtime chooses formats of its own."""
    return Call(Op.get(name), list(inputs), attrs)


def alter_conv(attrs: Any, inputs: Any, tinfos: Any, out_type: Any) -> Any:
    """For FTVMAlterOpLayout of convolutions: the call stays as it is, formats are chosen by the runtime."""
    del out_type
    return _call_again(attrs, inputs, _CONVS[len(tinfos[0].shape) - 3])


def alter_conv_transpose(attrs: Any, inputs: Any, tinfos: Any, out_type: Any) -> Any:
    """For FTVMAlterOpLayout of transposed convolutions: the call stays as it is."""
    del out_type
    return _call_again(attrs, inputs, _DECONVS[len(tinfos[0].shape) - 3])


def legalize_group_conv(attrs: Any, inputs: Any, types: Any) -> Any:
    """For FTVMLegalize of convolutions with groups: the call stays as it is, the runtime splits the weights."""
    names = _CONVS if hasattr(attrs, "out_layout") and not hasattr(attrs, "output_padding") else _DECONVS
    return _call_again(attrs, inputs, names[len(types[0].shape) - 3])


def legalize_pad_avg_pool(attrs: Any, inputs: Any, types: Any) -> Any:
    """For FTVMLegalize of nn.avg_pool2d: the call stays as it is; windows that `ceil_mode` adds are our own kernels'."""
    del types
    return _call_again(attrs, inputs, "nn.avg_pool2d")
