"""How functions for a UMA backend become loops."""

from __future__ import annotations

from typing import Any

from ...... import te
from ......_ffi.registry import register_func
from ......driver import lower
from ......ir import IRModule
from ......ir.transform import PassContext
from ......target import Target
from ..... import op as _op
from .....expr import Call, bind
from .....expr_functor import ExprMutator
from .....function import Function
from .....transform import InferType
from ....te_compiler import TECompiler
from .utils import PassPhase

__all__ = ["UMALower"]


class _Inliner(ExprMutator):
    """Calls of composite functions become their bodies."""

    def visit_call(self, call: Call) -> Any:
        call = super().visit_call(call)
        if not isinstance(call.op, Function):
            return call
        return bind(call.op.body, dict(zip(call.op.params, call.args)))


class UMALower:
    """Loops of functions by the operators' implementations, changed by the backend's passes."""

    def __init__(self, target_name: str) -> None:
        self.target_name = target_name
        self._operator_strategies: list[tuple[str, Any, int | None]] = []
        self._tir_passes: list[tuple[PassPhase, Any]] = []

    def _loops(self, function: Function) -> Any:
        """The PrimFunc of a function for the target: its tensors as arguments, the results last."""
        plain = Function(function.params, _Inliner().visit(function.body))
        typed = InferType()(IRModule.from_expr(plain))["main"]
        made = TECompiler().lower(typed, Target("llvm"))
        program = te.create_prim_func([*made.inputs, *made.outputs])
        return program.with_attr("global_symbol", str(function.attrs["global_symbol"]))

    def _changed(self, program: Any, symbol: str) -> Any:
        """The program with the passes of the backend, each after its phase of lowering."""
        first = PassPhase.TIR_PHASE_0.value
        passes = [(phase.value - first, each) for phase, each in self._tir_passes]
        context = PassContext.current()
        if "tir.add_lower_pass" in context.config:
            passes = [*context.config["tir.add_lower_pass"], *passes]
        config = {**dict(context.config.items()), "tir.add_lower_pass": passes}
        with PassContext(opt_level=context.opt_level, config=config):
            return lower(program, name=symbol)[symbol]

    def relay_to_tir(self, mod: IRModule) -> IRModule:
        """The module with loops in place of the functions for the target."""
        out = IRModule(dict(mod.functions), dict(mod.type_definitions))
        for var, function in mod.functions.items():
            taken = isinstance(function, Function) and function.attrs and "Compiler" in function.attrs
            if taken and str(function.attrs["Compiler"]) == self.target_name:
                program = self._loops(function)
                out[var] = self._changed(program, var.name_hint) if self._tir_passes else program
        return out

    def register(self) -> None:
        """Makes the lowering known, and the strategies of operators."""
        register_func(f"relay.ext.uma.{self.target_name}.relay_to_tir", self.relay_to_tir, override=True)
        for name, strategy, plevel in self._operator_strategies:
            _op.register_strategy(name, strategy, *([] if plevel is None else [plevel]))
