"""Frames of statements."""

from __future__ import annotations

from typing import Any, Callable

from .... import ir, tir
from ..base import IRBuilder, IRBuilderFrame
from ..ir.frame import IRModuleFrame

__all__ = [
    "AllocateConstFrame",
    "AllocateFrame",
    "AssertFrame",
    "AttrFrame",
    "BlockFrame",
    "BlockInitFrame",
    "DeclBufferFrame",
    "ElseFrame",
    "ForFrame",
    "IfFrame",
    "LaunchThreadFrame",
    "LetFrame",
    "PrimFuncFrame",
    "RealizeFrame",
    "TIRFrame",
    "ThenFrame",
    "WhileFrame",
]


class TIRFrame(IRBuilderFrame):
    """A frame that holds statements."""


class _WrapFrame(TIRFrame):
    """A statement around a body; `value` is what entering it gives."""

    def __init__(self, wrap: Callable[[tir.Stmt], tir.Stmt], value: Any = None):
        super().__init__()
        self.wrap, self.value = wrap, value

    def __enter__(self) -> Any:
        super().__enter__()
        return self.value

    def leave(self, builder: IRBuilder) -> None:
        """The statement goes to the frame around."""
        builder.add(self.wrap(self.body()))


class AssertFrame(_WrapFrame):
    """A condition that holds inside."""


class LetFrame(_WrapFrame):
    """A variable that has a value inside."""


class RealizeFrame(_WrapFrame):
    """A region of a buffer that is there inside."""


class AttrFrame(_WrapFrame):
    """An attribute of what is inside."""


class WhileFrame(_WrapFrame):
    """A loop while a condition holds."""


class AllocateFrame(_WrapFrame):
    """Memory that is there inside."""


class AllocateConstFrame(_WrapFrame):
    """Constants that are there inside."""


class LaunchThreadFrame(_WrapFrame):
    """Threads that run what is inside."""


class DeclBufferFrame(_WrapFrame):
    """A buffer that is known inside."""


class PrimFuncFrame(TIRFrame):
    """A function."""

    def __init__(self) -> None:
        super().__init__()
        self.name: str | None = None
        self.args: list[Any] = []
        self.ret_type: Any = None
        self.buffers: list[Any] = []
        self.buffer_params: list[Any] = []
        self.preflattened: dict[Any, Any] = {}
        self.attrs: dict[str, Any] = {}
        self.root_buffers: list[Any] = []
        self.env_threads: dict[Any, Any] = {}

    def leave(self, builder: IRBuilder) -> None:
        """The function is the result, or one of the module around."""
        body = self.body()
        attrs = dict(self.attrs)
        if self.name is not None:
            attrs.setdefault("global_symbol", self.name)
        params = [self.param_of(arg) for arg in self.args]
        buffers = dict(zip(self.buffer_params, self.buffers))
        flat = {param: self.preflattened[buffer] for param, buffer in buffers.items() if buffer in self.preflattened}
        function = tir.PrimFunc(
            params, body, self.ret_type, buffers, flat, ir.make_node("DictAttrs", **attrs) if attrs else None
        )
        function = tir._ffi_api.ScriptComplete(function, self.root_buffers, False, None)
        around = builder.frames[-1] if builder.frames else None
        if isinstance(around, IRModuleFrame):
            if self.name is None:
                raise ValueError("a function of a module needs a name: T.func_name(...)")
            around.functions[self.name] = function
        else:
            builder.result = function

    def param_of(self, arg: Any) -> Any:
        """The parameter of an argument: itself, or the handle of a buffer."""
        for param, buffer in zip(self.buffer_params, self.buffers):
            if buffer is arg:
                return param
        return arg


class BlockFrame(TIRFrame):
    """A block."""

    def __init__(self, name: str, no_realize: bool):
        super().__init__()
        self.name, self.no_realize = name, no_realize
        self.iter_vars: list[Any] = []
        self.iter_values: list[Any] = []
        self.reads: list[Any] | None = None  # found out from the body where it is not said
        self.writes: list[Any] | None = None
        self.init: Any = None
        self.alloc_buffers: list[Any] = []
        self.match_buffers: list[Any] = []
        self.annotations: dict[str, Any] = {}
        self.predicate: Any = None

    def leave(self, builder: IRBuilder) -> None:
        """The block, realised unless asked not to be."""
        annotations = dict(self.annotations)
        if self.reads is None or self.writes is None:
            unsaid = (self.reads is None) + 2 * (self.writes is None)
            annotations["tir.script_parsing_detect_access"] = tir.IntImm("int64", unsaid)
        block = tir.Block(
            self.iter_vars,
            self.reads or [],
            self.writes or [],
            self.name,
            self.body(),
            self.init,
            self.alloc_buffers,
            self.match_buffers,
            annotations,
        )
        if self.no_realize:
            if self.predicate is not None or self.iter_values:
                raise ValueError("a block that is not realised has neither a predicate nor values of its axes")
            builder.add(block)
        else:
            predicate = True if self.predicate is None else self.predicate
            builder.add(tir.BlockRealize(self.iter_values, predicate, block))


class BlockInitFrame(TIRFrame):
    """What a block does before its first step."""

    def leave(self, builder: IRBuilder) -> None:
        """The block around has it."""
        builder.find(BlockFrame, "T.init").init = self.body()


class ForFrame(TIRFrame):
    """Loops, the outermost first."""

    def __init__(self, loop_vars: list[Any], domains: list[ir.Range], make: Callable[[list[Any], tir.Stmt], tir.Stmt]):
        super().__init__()
        self.vars, self.domains, self.make = loop_vars, domains, make

    def __enter__(self) -> Any:
        super().__enter__()
        return self.vars[0] if len(self.vars) == 1 else list(self.vars)

    def leave(self, builder: IRBuilder) -> None:
        """The loops around their body."""
        builder.add(self.make(self.vars, self.body()))


class IfFrame(TIRFrame):
    """A choice; its sides are Then and Else."""

    def __init__(self, condition: Any):
        super().__init__()
        self.condition = condition
        self.then: Any = None
        self.otherwise: Any = None

    def leave(self, builder: IRBuilder) -> None:
        """The choice."""
        if self.stmts:
            raise ValueError("stray statements within T.If: put them into T.Then() or T.Else()")
        if self.then is None:
            raise ValueError("T.If has no T.Then")
        builder.add(tir.IfThenElse(self.condition, self.then, self.otherwise))


class ThenFrame(TIRFrame):
    """What is done where the condition holds."""

    def leave(self, builder: IRBuilder) -> None:
        """The choice around has it."""
        around = builder.find(IfFrame, "T.Then")
        if around.then is not None:
            raise ValueError("T.If has a T.Then already")
        around.then = self.body()


class ElseFrame(TIRFrame):
    """What is done where it does not."""

    def leave(self, builder: IRBuilder) -> None:
        """The choice around has it."""
        around = builder.find(IfFrame, "T.Else")
        if around.then is None:
            raise ValueError("T.Else comes after T.Then")
        if around.otherwise is not None:
            raise ValueError("T.If has a T.Else already")
        around.otherwise = self.body()
