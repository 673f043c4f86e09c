"""Running Relay programs from Python: what executors share, and the interpreter."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..._ffi.registry import get_global_func, register_object
from ...ir import GlobalVar
from ...ir.module import IRModule
from ...runtime import NDArray, Object, container
from ...runtime import ndarray as _nd
from ..analysis import free_vars
from ..expr import Constant, Expr, Tuple
from ..function import Function
from ..scope_builder import ScopeBuilder
from ..ty import TensorType

__all__ = ["Closure", "ConstructorValue", "Executor", "Interpreter", "RefValue"]


@register_object("relay.ConstructorValue")
class ConstructorValue(Object):
    """A value of a data type: the constructor that made it, its number and its fields."""

    def __init__(self, tag: int, fields: Any, constructor: Any):
        make = get_global_func("relay._make.ConstructorValue")
        self.__init_handle_by_constructor__(make, tag, [_value(field) for field in fields], constructor)


@register_object("relay.RefValue")
class RefValue(Object):
    """A reference; `value` is what it holds now."""

    def __init__(self, value: Any):
        self.__init_handle_by_constructor__(get_global_func("relay._make.RefValue"), _value(value))


@register_object("relay.InterpreterClosure")
class Closure(Object):
    """A function with the values of its free variables; call it with values."""

    def __call__(self, *args: Any) -> Any:
        types = [param.type_annotation for param in self.func.params] + [None] * len(args)
        values = [_value(arg, wanted) for arg, wanted in zip(args, types)]
        return get_global_func("relay.backend.ApplyClosure")(self, values)


def _value(arg: Any, wanted: Any = None) -> Any:
    """Python's and NumPy's numbers, arrays and sequences as values of the interpreter.

    A number of Python's takes the element type that is wanted, else that of 32 bits.
    """
    if isinstance(arg, Constant):
        return arg.data
    if isinstance(arg, Tuple):
        return container.tuple_object([_value(field) for field in arg.fields])
    if isinstance(arg, (NDArray, Object)):
        return arg
    if isinstance(arg, (tuple, list)):
        return container.tuple_object([_value(field) for field in arg])
    if isinstance(arg, np.ndarray):
        return _nd.array(arg)
    if isinstance(arg, (bool, int, float, np.generic)):
        value = np.asarray(arg)
        if isinstance(arg, np.generic):
            return _nd.array(value)
        narrow = {"int64": "int32", "float64": "float32"}.get(str(value.dtype), str(value.dtype))
        return _nd.array(value.astype(str(wanted.dtype) if isinstance(wanted, TensorType) else narrow))
    if hasattr(arg, "__array__"):
        return _nd.array(np.asarray(arg))
    raise TypeError(f"{type(arg).__name__} is not a value of a Relay program: {arg!r}")


class Executor:
    """Evaluates expressions; a kind of executor says in `_make_executor` how functions are made to run."""

    mod: Any

    def evaluate(self, expr: Any = None, binds: dict[Any, Any] | None = None) -> Any:
        """The value of `expr`; of a function, a callable. Without an expression, that of "main".

        `binds` gives values to free variables of the expression.
        """
        if binds:
            scope = ScopeBuilder()
            for var, value in binds.items():
                scope.let(var, value)
            scope.ret(expr)
            expr = scope.get()
        if expr is None:
            return self._make_executor()
        if isinstance(expr, Function):
            free = [var.name_hint for var in free_vars(expr)]
            if free:
                raise AssertionError(f"the function uses variables that nobody binds: {', '.join(free)}")
        if isinstance(expr, (Function, GlobalVar)):
            return self._make_executor(expr)
        return self._make_executor(Function([], expr))()

    def _make_executor(self, expr: Expr | None = None) -> Callable[..., Any]:
        raise NotImplementedError

    @staticmethod
    def _convert_args(expr: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the function's parameters."""
        if not kwargs:
            return tuple(args)
        if not isinstance(expr, Function):
            raise ValueError(f"can only supply keyword parameters for a relay.Function, found {expr}")
        names = [param.name_hint for param in expr.params]
        for position, name in enumerate(names[: len(args)]):
            if name in kwargs:
                raise ValueError(
                    "duplicate argument supplied in both positional args"
                    f" (at position: {position}), and keyword argument (with name: {name})"
                )
        unknown = sorted(set(kwargs) - set(names))
        if unknown:
            raise ValueError(f"no parameter is named {', '.join(unknown)}; the function has {', '.join(names)}")
        given = [*args, *(kwargs[name] for name in names[len(args) :] if name in kwargs)]
        if len(given) != len(names):
            raise ValueError(f"insufficient arguments, expected {len(names)}, provided {len(given)}")
        return tuple(given)


class Interpreter(Executor):
    """Runs programs as they stand; operators are compiled one by one. Values are NDArrays, ADTs for tuples,
    ConstructorValues, RefValues and Closures."""

    def __init__(self, mod: Any, device: Any, target: Any):
        self.mod = mod if mod is not None else IRModule()
        self.device = device
        self.target = target
        self._evaluate = get_global_func("relay.backend.CreateInterpreter")(self.mod, device, target)

    def _make_executor(self, expr: Expr | None = None) -> Callable[..., Any]:
        if expr is None:
            expr = self.mod.get_global_var("main")
        function = self.mod[expr] if isinstance(expr, GlobalVar) else expr
        closure = self._evaluate(expr)

        def run(*args: Any, **kwargs: Any) -> Any:
            return closure(*self._convert_args(function, args, kwargs))

        return run
