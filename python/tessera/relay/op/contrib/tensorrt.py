"""Models cut for TensorRT."""

from __future__ import annotations

from typing import Any, Callable

from ...._ffi.registry import get_global_func
from ....ir import IRModule, Op
from ....ir.transform import PassContext
from ....target import Target
from ... import transform
from ...dataflow_pattern import is_constant, is_op, is_tuple, is_tuple_get_item, wildcard
from ...expr import Call, Constant, Tuple, TupleGetItem
from ...expr_functor import ExprMutator, ExprVisitor
from ._partition import bound, partition
from .register import get_pattern_table, register_pattern_table

__all__ = [
    "IsComputeIntensiveGraph",
    "RemoveDropout",
    "RemoveDropoutPass",
    "get_tensorrt_target",
    "get_tensorrt_use_fp16",
    "get_tensorrt_use_implicit_batch_mode",
    "get_tensorrt_version",
    "is_supported_trt_type",
    "is_tensorrt_compiler_enabled",
    "is_tensorrt_runtime_enabled",
    "is_valid_subgraph",
    "partition_for_tensorrt",
    "pattern_table",
    "prune_tensorrt_subgraphs",
]

Check = Callable[[Any], bool]

_UNARY = (
    "nn.relu sigmoid tanh exp log sqrt abs negative sin cos atan ceil floor erf clip nn.leaky_relu nn.batch_flatten "
    "expand_dims squeeze copy"
)
_BINARY = "subtract divide power maximum minimum add multiply"
_REDUCTIONS = "sum prod max min mean"


def is_tensorrt_compiler_enabled() -> bool:
    """True when a code generator for TensorRT is registered."""
    return get_global_func("relay.ext.tensorrt.is_runtime_enabled", allow_missing=True) is not None


def is_tensorrt_runtime_enabled() -> bool:
    """True when TensorRT itself is there too."""
    found = get_global_func("relay.ext.tensorrt.is_runtime_enabled", allow_missing=True)
    return bool(found()) if found is not None else False


def get_tensorrt_target() -> Target:
    """The current target of the kind "tensorrt", or one with its defaults."""
    target = Target.current(allow_none=True)
    return target if target is not None and target.kind.name == "tensorrt" else Target("tensorrt")


def _option(name: str, default: Any) -> Any:
    return get_tensorrt_target().attrs.get(name, default)


def get_tensorrt_version() -> tuple[int, int, int]:
    """The version that the target names, or 6.0.1."""
    version = [int(part) for part in _option("tensorrt_version", [])]
    return (version[0], version[1], version[2]) if len(version) == 3 else (6, 0, 1)


def get_tensorrt_use_implicit_batch_mode() -> bool:
    """True when the first dimension is a batch that engines do not name."""
    return bool(_option("use_implicit_batch", True))


def get_tensorrt_use_fp16() -> bool:
    """True when engines may compute in fp16."""
    return bool(_option("use_fp16", False))


def is_supported_trt_type(typ: Any, op_name: str) -> bool:
    """True for tensors of float32 and float16 whose extents, but for a batch, are known."""
    del op_name
    if getattr(typ, "dtype", "") not in ("float32", "float16"):
        return False
    extents = list(typ.shape)[1:] if get_tensorrt_use_implicit_batch_mode() else list(typ.shape)
    try:
        return all(int(extent) >= 0 for extent in extents)
    except (TypeError, ValueError):
        return False


def _call_of(expr: Any) -> Any:
    """The call that a match ends with."""
    return expr.tuple_value if isinstance(expr, TupleGetItem) else expr


def _types_fit(expr: Any) -> bool:
    call = _call_of(expr)
    parts = [part for arg in call.args for part in (arg.fields if isinstance(arg, Tuple) else [arg])]
    return all(is_supported_trt_type(part.checked_type, call.op.name) for part in parts)


def _layout_is(call: Any, data: str, kernel: str | None = None) -> bool:
    attrs = call.attrs
    name = "data_layout" if hasattr(attrs, "data_layout") else "layout"
    return str(getattr(attrs, name)) == data and (kernel is None or str(attrs.kernel_layout) == kernel)


def _keeps_batch(call: Any, axes: Any) -> bool:
    """True when no axis is that of the batch, where engines do not name it."""
    rank = len(call.args[0].checked_type.shape)
    return not get_tensorrt_use_implicit_batch_mode() or all(int(axis) % max(rank, 1) != 0 for axis in axes)


def _axes(value: Any, call: Any) -> list[int]:
    rank = len(call.args[0].checked_type.shape)
    if value is None:
        return list(range(rank))
    return [int(axis) for axis in value] if hasattr(value, "__len__") else [int(value)]


def _reshape_keeps_batch(call: Any) -> bool:
    if not get_tensorrt_use_implicit_batch_mode():
        return True
    before, after = call.args[0].checked_type.shape, call.checked_type.shape
    try:
        return int(before[0]) == int(after[0])
    except (TypeError, ValueError):
        return False


def _transpose_keeps_batch(call: Any) -> bool:
    axes = [int(axis) for axis in call.attrs.axes] if call.attrs.axes is not None else [-1]
    return not get_tensorrt_use_implicit_batch_mode() or axes[0] == 0


def _adds_no_batch(call: Any) -> bool:
    """Both operands with a batch, or one of them a constant without."""
    ranks = [len(arg.checked_type.shape) for arg in call.args]
    has_constant = any(isinstance(arg, Constant) for arg in call.args)
    return not get_tensorrt_use_implicit_batch_mode() or has_constant or ranks[0] == ranks[1]


def _normalises_channels(expr: Any) -> bool:
    call = _call_of(expr)
    return is_supported_trt_type(call.args[0].checked_type, call.op.name) and int(call.attrs.axis) in (1, 3)


def _both(*checks: Check) -> Check:
    return lambda expr: all(check(expr) for check in checks)


def _rows() -> list[tuple[str, Any, Check]]:
    """(operator, pattern, check beyond that of types)."""
    always: Check = lambda expr: True  # noqa: E731
    rows: list[tuple[str, Any, Check]] = []

    def layer(name: str, data: str, kernel: str) -> None:
        pattern = is_op(name)(wildcard(), is_constant())
        rows.append((name, pattern, lambda call: _layout_is(call, data, kernel)))

    layer("nn.conv1d", "NCW", "OIW")
    layer("nn.conv2d", "NCHW", "OIHW")
    layer("nn.conv3d", "NCDHW", "OIDHW")
    layer("nn.conv2d_transpose", "NCHW", "IOHW")
    rows.append(("nn.dense", is_op("nn.dense")(wildcard(), is_constant()), always))
    rows.append(("nn.batch_matmul", is_op("nn.batch_matmul")(wildcard(), wildcard()), always))
    rows.append(("nn.bias_add", is_op("nn.bias_add")(wildcard(), is_constant()), lambda c: int(c.attrs.axis) == 1))
    for name in _UNARY.split():
        rows.append((name, is_op(name)(wildcard()), always))
    for name in _BINARY.split():
        rows.append((name, is_op(name)(wildcard(), wildcard()), _adds_no_batch))
    for name in _REDUCTIONS.split():
        rows.append(
            (name, is_op(name)(wildcard()), lambda c: not c.attrs.exclude and _keeps_batch(c, _axes(c.attrs.axis, c)))
        )
    rows.append(("nn.softmax", is_op("nn.softmax")(wildcard()), lambda c: _keeps_batch(c, [c.attrs.axis])))
    for name in ("nn.max_pool2d", "nn.avg_pool2d", "nn.global_max_pool2d", "nn.global_avg_pool2d"):
        rows.append((name, is_op(name)(wildcard()), lambda c: _layout_is(c, "NCHW")))
    for name in ("nn.max_pool3d", "nn.avg_pool3d"):
        rows.append((name, is_op(name)(wildcard()), lambda c: _layout_is(c, "NCDHW")))
    rows.append(("reshape", is_op("reshape")(wildcard()), _reshape_keeps_batch))
    rows.append(("transpose", is_op("transpose")(wildcard()), _transpose_keeps_batch))
    rows.append(
        (
            "concatenate",
            is_op("concatenate")(is_tuple(None)),
            lambda c: get_tensorrt_use_implicit_batch_mode() is False or int(c.attrs.axis) != 0,
        )
    )
    constants = [is_constant()] * 4
    norm = is_tuple_get_item(is_op("nn.batch_norm")(wildcard(), *constants), 0)
    rows.append(("nn.batch_norm", norm, _normalises_channels))
    return rows


@register_pattern_table("tensorrt")
def pattern_table() -> list[tuple]:
    """(name, pattern, check) of what TensorRT takes."""
    return [(f"tensorrt.{name}", pattern, _both(_types_fit, check)) for name, pattern, check in _rows()]


class RemoveDropout(ExprMutator):
    """Takes dropout out, which does nothing once a model is trained."""

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        """The data of a dropout instead of its first result."""
        out = super().visit_tuple_getitem(op)
        value = out.tuple_value
        if out.index == 0 and isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == "nn.dropout":
            return value.args[0]
        return out


@transform.function_pass(opt_level=0)
class RemoveDropoutPass:
    """`RemoveDropout` as a pass."""

    def transform_function(self, func: Any, mod: Any, _: Any) -> Any:
        """The function without dropout."""
        del mod
        return RemoveDropout().visit(func)


class IsComputeIntensiveGraph(ExprVisitor):
    """Whether a function has operators that are worth an engine: contractions, pooling, reductions."""

    _HEAVY = frozenset(
        [
            *("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose", "nn.dense", "nn.batch_matmul"),
            *_REDUCTIONS.split(),
        ]
    )

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


def is_valid_subgraph(params: Any, body: Any) -> bool:
    """True when an engine may be made of a function: it has inputs, which share their batch, and is worth it."""
    if not params:
        return False
    if get_tensorrt_use_implicit_batch_mode():
        kinds = [getattr(param.checked_type, "fields", [param.checked_type]) for param in params]
        batches = set()
        for kind in (kind for group in kinds for kind in group):
            if not kind.shape:
                return False
            batches.add(str(kind.shape[0]))
        if len(batches) != 1:
            return False
    if bool(_option("remove_no_mac_subgraphs", False)):
        return IsComputeIntensiveGraph().is_graph_compute_intensive(body)
    return True


def prune_tensorrt_subgraphs(mod: IRModule) -> IRModule:
    """Functions that no engine is made of go back to where they came from."""
    names = [
        var
        for var, function in mod.functions.items()
        if function.attrs
        and str(function.attrs.get("Compiler", "")) == "tensorrt"
        and not is_valid_subgraph(function.params, function.body)
    ]
    out = transform.InlineCompilerFunctionsBoundTo(names)(mod)
    return transform.InferType()(out)


def partition_for_tensorrt(mod: IRModule, params: Any = None, target: Any = None) -> IRModule:
    """The module with what TensorRT takes in functions of their own; options are those of the target."""
    wanted = Target(target) if target is not None else get_tensorrt_target()
    layouts = {"nn.conv1d": ["NCW", "default"], "nn.conv2d": ["NCHW", "default"], "nn.conv3d": ["NCDHW", "default"]}
    before = [
        RemoveDropoutPass(),
        transform.RemoveUnusedFunctions(),
        transform.ConvertLayout(layouts),
        transform.FoldConstant(),
        transform.InferType(),
    ]
    with wanted:
        with PassContext(opt_level=3):
            out = partition(bound(mod, params), "tensorrt", get_pattern_table("tensorrt"), before)
        return prune_tensorrt_subgraphs(out)
