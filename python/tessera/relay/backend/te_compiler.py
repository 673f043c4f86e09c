"""How single calls become tensors: the implementations of an operator and the choice among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ... import te
from ..._ffi.registry import get_global_func, register_object
from ...driver import build, lower
from ...ir import GlobalVar, IRModule, TupleType, structural_equal, structural_hash
from ...runtime.object import Object
from ...target import Target
from ...te import Schedule, Tensor
from ...tir import IntImm, const
from ..expr import Call, Constant, Tuple, TupleGetItem
from ..expr_functor import ExprFunctor
from ..function import Function
from ..op.op import Op, OpImplementation
from ..transform import InferType, InferTypeLocal
from ..ty import Any as AnyDim

__all__ = [
    "CCacheKey",
    "CCacheValue",
    "CachedFunc",
    "LoweredOutput",
    "TECompiler",
    "get",
    "get_shape",
    "get_valid_implementations",
    "lower_call",
    "select_implementation",
]


@register_object("relay.LoweredOutput")
class LoweredOutput(Object):
    """The tensors of a call, and how they were made."""

    def __init__(self, outputs: Any, implement: OpImplementation):
        self.__init_handle_by_constructor__(get_global_func("relay.backend._make_LoweredOutput"), outputs, implement)


def get_valid_implementations(op: Op, attrs: Any, inputs: Any, out_type: Any, target: Any) -> list[OpImplementation]:
    """What the operator's strategy offers for a call, without those whose condition does not hold."""
    return list(get_global_func("relay.op._ValidImplementations")(op, attrs, inputs, out_type, Target(target)))


def select_implementation(
    op: Op, attrs: Any, inputs: Any, out_type: Any, target: Any, use_autotvm: bool = True
) -> tuple[OpImplementation, list[Tensor]]:
    """The implementation of the highest level, and the tensors it gives."""
    del use_autotvm  # no records of tuning are kept
    target = Target(target)
    chosen = get_global_func("relay.op._SelectImplementation")(op, attrs, inputs, out_type, target)
    with target:
        return chosen, list(chosen.compute(attrs, inputs, out_type))


def lower_call(call: Any, inputs: Any, target: Any, otype: Any = None) -> LoweredOutput:
    """The tensors of a typed call from those of its arguments."""
    chosen, outputs = select_implementation(call.op, call.attrs, inputs, otype or call.checked_type, target)
    return LoweredOutput(outputs, chosen)


def get_shape(shape: Any) -> list[Any]:
    """Extents as tensors have them: those that fit in 32 bits as such, those that are not known as variables."""
    out: list[Any] = []
    for extent in shape:
        if isinstance(extent, AnyDim):
            out.append(te.size_var("any_dim"))
        elif isinstance(extent, (int, IntImm)) and abs(int(extent)) < 2**31:
            out.append(const(int(extent), "int32"))
        else:
            out.append(extent)
    return out


class CCacheKey:
    """A function and a target: equal to those of the same structure."""

    def __init__(self, source_func: Function, target: Any):
        self.source_func = source_func
        self.target = Target(target)

    def __hash__(self) -> int:
        return structural_hash(self.source_func) ^ hash(str(self.target))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CCacheKey)
            and str(self.target) == str(other.target)
            and structural_equal(self.source_func, other.source_func)
        )


@dataclass
class CachedFunc:
    """A function as tensors, as their schedule, and lowered."""

    prim_fn_var: GlobalVar
    inputs: list[Tensor]
    outputs: list[Tensor]
    schedule: Schedule
    funcs: IRModule
    target: Target


@dataclass
class CCacheValue:
    """What the compiler keeps of a function, and how often it was asked for."""

    cached_func: CachedFunc
    use_count: int = 0
    packed_func: Any = field(default=None, repr=False)


class _ToTensors(ExprFunctor):
    """The tensors of each expression; the implementation of the call that decides the schedule."""

    def __init__(self, target: Target):
        super().__init__()
        self.target = target
        self.inputs: list[Tensor] = []
        self.anchor: tuple[int, Any, OpImplementation] | None = None
        self.name = "fused"

    def bind(self, var: Any) -> None:
        kinds = var.checked_type.fields if isinstance(var.checked_type, TupleType) else [var.checked_type]
        tensors = [te.placeholder(get_shape(kind.shape), kind.dtype, name=var.name_hint) for kind in kinds]
        self.inputs += tensors
        self.memo_map[var] = tensors

    def visit_constant(self, constant: Constant) -> list[Tensor]:
        if constant.data.shape:
            raise ValueError(
                "a function that is lowered takes its tensors as parameters; only scalars may be constants"
            )
        value = constant.data.numpy().item()
        return [te.compute((), lambda: const(value, constant.data.dtype), name="compile_engine_const", tag="broadcast")]

    def visit_tuple(self, tup: Tuple) -> list[Tensor]:
        return [tensor for part in tup.fields for tensor in self.visit(part)]

    def visit_tuple_getitem(self, item: TupleGetItem) -> list[Tensor]:
        return [self.visit(item.tuple_value)[item.index]]

    def visit_call(self, call: Call) -> list[Tensor]:
        if not isinstance(call.op, Op):
            raise ValueError("a function that is lowered calls operators only")
        inputs = [tensor for arg in call.args for tensor in self.visit(arg)]
        self.name += "_" + call.op.name.replace(".", "_")
        lowered = lower_call(call, inputs, self.target, InferTypeLocal(call))
        pattern = int(call.op.get_attr("TOpPattern") or 0)
        if self.anchor is None or pattern >= self.anchor[0]:
            self.anchor = (pattern, call.attrs, lowered.implementation)
        return list(lowered.outputs)


class TECompiler:
    """Compiles functions of operators one by one, by their implementations, and keeps what it made."""

    def __init__(self) -> None:
        self._kept: dict[CCacheKey, CCacheValue] = {}

    def lower(self, source_func: Any, target: Any = None, mod_name: str = "default") -> CachedFunc:
        """The tensors, the schedule and the loops of a function; a call with the same function gives the same."""
        key = self._key(source_func, target)
        value = self._kept.get(key)
        if value is None:
            value = self._kept[key] = CCacheValue(self._lower(key, mod_name))
        value.use_count += 1
        return value.cached_func

    def jit(self, source_func: Any, target: Any = None) -> Any:
        """The function, compiled: it takes its tensors and then its results."""
        cached = self.lower(source_func, target)
        value = self._kept[self._key(source_func, target)]
        if value.packed_func is None:
            value.packed_func = build(cached.funcs, target=cached.target).entry_func
        return value.packed_func

    def clear(self) -> None:
        """Forgets everything."""
        self._kept.clear()

    def items(self) -> list[tuple[CCacheKey, CCacheValue]]:
        """What is kept."""
        return list(self._kept.items())

    def get_current_ccache_key(self) -> None:
        """None: no function is lowered while another one is."""

    @staticmethod
    def _key(source_func: Any, target: Any) -> CCacheKey:
        if isinstance(source_func, CCacheKey):
            return source_func
        if not isinstance(source_func, Function):
            raise TypeError(f"the compiler takes a function, got {type(source_func).__name__}")
        wanted = target if target is not None else Target.current(allow_none=True)
        if wanted is None:
            raise ValueError("Target is not set")
        return CCacheKey(source_func, wanted)

    @staticmethod
    def _lower(key: CCacheKey, mod_name: str) -> CachedFunc:
        typed = IRModule.from_expr(key.source_func)
        function = InferType()(typed)["main"]
        walk = _ToTensors(key.target)
        with key.target:
            for param in function.params:
                walk.bind(param)
            outputs = walk.visit(function.body)
            if walk.anchor is not None:
                schedule = walk.anchor[2].schedule(walk.anchor[1], outputs, key.target)
            else:
                schedule = te.create_schedule([tensor.op for tensor in outputs])
            arguments = [*walk.inputs, *(tensor for tensor in outputs if tensor not in walk.inputs)]
            name = f"tvmgen_{mod_name}_{walk.name}"
            return CachedFunc(
                GlobalVar(name), walk.inputs, outputs, schedule, lower(schedule, arguments, name), key.target
            )


_compiler = TECompiler()


def get() -> TECompiler:
    """The compiler of the process."""
    return _compiler
