"""What importers written in Python share: attributes as text, names and expressions, facts about expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ...error import OpAttributeRequired
from ...ir import IRModule
from .. import analysis, transform
from .. import op as _op
from ..build_module import bind_params_by_name, create_executor
from ..expr import Expr, Var, const, var
from ..function import Function
from ..ty import TensorType
from ._recurrent import gru_cell, lstm_cell, rnn_cell

__all__ = [
    "AttrCvt",
    "ExprTable",
    "Renamer",
    "RequiredAttr",
    "StrAttrsDict",
    "ensure_scalar_shape",
    "fold_constant",
    "get_name",
    "get_relay_op",
    "gru_cell",
    "infer_channels",
    "infer_shape",
    "infer_type",
    "infer_value",
    "lstm_cell",
    "new_var",
    "rnn_cell",
    "shape_of",
    "to_int_list",
    "try_infer_value",
    "try_resolve_var_to_const",
    "unbind",
]


class RequiredAttr:
    """Stands for a default that there is none of."""


class StrAttrsDict:
    """Attributes whose values are texts, as MXNet writes them."""

    def __init__(self, attrs: dict[str, str]) -> None:
        self.attrs = attrs

    def has_attr(self, key: str) -> bool:
        """True when the attribute is there."""
        return key in self.attrs

    def _get(self, key: str, default: Any, read: Callable[[str], Any]) -> Any:
        if key in self.attrs:
            return read(self.attrs[key])
        if isinstance(default, RequiredAttr):
            raise OpAttributeRequired(f"the attribute {key} is required")
        return default

    def get_float(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008, a default that is no value
        """An attribute as a float."""
        return self._get(key, default, float)

    def get_int(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """An attribute as an int; None where the text says so."""
        return self._get(key, default, lambda text: None if text == "None" else int(text))

    def get_str(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """An attribute as it is."""
        return self._get(key, default, str)

    def get_int_tuple(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """An attribute such as "(1, 2)"."""
        return self._get(key, default, lambda text: tuple(None if x is None else int(x) for x in _items(text)))

    def get_float_tuple(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """An attribute such as "(0.5, 2)"."""
        return self._get(key, default, lambda text: tuple(float(x) for x in _items(text)))

    def get_tuple_tuple_int(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """An attribute such as "((1, 2), (3, 4))"."""
        return self._get(key, default, lambda text: tuple(tuple(int(x) for x in item) for item in _items(text)))

    def get_int_list(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """An attribute such as "[1, 2]"."""
        return self._get(key, default, lambda text: tuple(int(x) for x in _items(text)))

    def get_bool(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """An attribute such as "True" or "1"."""
        return self._get(key, default, lambda text: text.strip() in ("1", "True", "true"))


def _items(text: str) -> Any:
    value = ast.literal_eval(text.replace("L", ""))
    return value if isinstance(value, (tuple, list)) else (value,)


class ExprTable:
    """Expressions by the names that a model gives them."""

    def __init__(self) -> None:
        self.exprs: dict[str, Any] = {}
        self.params: dict[str, Any] = {}
        self.const_ctr = 1
        self.in_padding = False
        self.paddings: Any = None

    def new_const(self, value: Any, shape: Any = None, dtype: str = "float32") -> Var:
        """A variable for a constant, whose value is in `params`."""
        from ...runtime import ndarray as nd

        name = f"_param_{self.const_ctr}"
        self.const_ctr += 1
        self.params[name] = value if hasattr(value, "numpy") else nd.array(np.asarray(value, dtype))
        self.exprs[name] = var(name, shape=shape or self.params[name].shape, dtype=dtype)
        return self.exprs[name]

    def get_expr(self, name: str) -> Any:
        """The expression of a name."""
        return self.exprs[name]

    def set_expr(self, name: str, expr: Any, force_override: bool = False) -> None:
        """Gives a name its expression; the first one stays unless told otherwise."""
        if force_override or name not in self.exprs:
            self.exprs[name] = expr

    def has_expr(self, name: str) -> bool:
        """True when a name has an expression."""
        return name in self.exprs

    def set_padding(self, paddings: Any) -> None:
        """Notes padding that belongs to the next layer."""
        self.paddings, self.in_padding = paddings, True

    def clear_padding(self) -> None:
        """Forgets it."""
        self.in_padding = False


def get_relay_op(op_name: str) -> Callable[..., Any]:
    """The function of an operator, from `relay.op` or a part of it."""
    for module in (_op, _op.nn, _op.image, _op.vision):
        if callable(getattr(module, op_name.split(".")[-1], None)):
            return getattr(module, op_name.split(".")[-1])
    raise ValueError(f"there is no operator {op_name}")


class Renamer:
    """A converter of an operator that has another name and the same attributes."""

    def __init__(self, new_name: str) -> None:
        self._new_name = new_name

    def __call__(self, inputs: Any, attrs: dict[str, Any], *args: Any) -> Any:
        """The call."""
        return get_relay_op(self._new_name)(*inputs, **{k: v for k, v in attrs.items() if k != "tvm_custom"})


class AttrCvt:
    """A converter that renames attributes: `transforms` {old: new or (new, default) or (new, default, function)}.

    `excludes` are attributes that cannot be, `disables` and `ignores` those that are left out, `extras` those that are added.
    """

    def __init__(
        self,
        op_name: Any,
        transforms: dict[str, Any] | None = None,
        excludes: Any = None,
        disables: Any = None,
        ignores: Any = None,
        extras: dict[str, Any] | None = None,
        custom_check: Any = None,
    ) -> None:
        self._op_name, self._transforms, self._extras = op_name, transforms or {}, extras or {}
        self._excludes, self._left_out = list(excludes or []), {*(disables or []), *(ignores or []), "tvm_custom"}
        self._custom_check = custom_check

    def __call__(self, inputs: Any, attrs: dict[str, Any], *args: Any) -> Any:
        """The call with renamed attributes."""
        if self._custom_check and not self._custom_check[0](attrs):
            raise RuntimeError(f"Check failed: {self._custom_check[1]}")
        name = self._op_name(attrs) if callable(self._op_name) else self._op_name
        out: dict[str, Any] = {}
        for key, value in attrs.items():
            if key in self._excludes:
                raise NotImplementedError(f"Attribute {key} in operator {name} is not supported.")
            if key in self._left_out:
                continue
            how = self._transforms.get(key, key)
            if isinstance(how, tuple):
                out[how[0]] = how[2](value) if len(how) > 2 else value
            else:
                out[how] = value
        for key, how in self._transforms.items():
            if key not in attrs and isinstance(how, tuple) and len(how) > 1 and how[0] not in out:
                out[how[0]] = how[1]
        out.update({key: value for key, value in self._extras.items() if key not in out})
        return get_relay_op(name)(*inputs, **out)


def get_name(node: Any) -> str:
    """The name of a variable."""
    return str(getattr(node, "name_hint", "") or getattr(node, "name", ""))


def infer_type(node: Any, mod: IRModule | None = None) -> Any:
    """An expression with its type."""
    scope = IRModule.from_expr(node) if mod is None else IRModule(mod.functions, mod.type_definitions)
    if mod is not None:
        scope["main"] = node if isinstance(node, Function) else Function(analysis.free_vars(node), node)
    main = transform.InferType()(scope)["main"]
    return main if isinstance(node, Function) else main.body


def infer_shape(inputs: Any, mod: IRModule | None = None) -> tuple[Any, ...]:
    """The shape of an expression."""
    kind = infer_type(inputs, mod).checked_type
    return tuple(getattr(extent, "value", extent) for extent in kind.shape) if isinstance(kind, TensorType) else ()


def infer_channels(inputs: Any, transpose: bool = False) -> int:
    """The number of output channels of a weight."""
    return int(infer_shape(inputs)[1 if transpose else 0])


def infer_value(input_val: Any, params: dict[str, Any], mod: IRModule | None = None) -> Any:
    """The value of an expression whose free variables are all in `params`."""
    function = Function(analysis.free_vars(input_val), input_val)
    unknown = [str(v.name_hint) for v in function.params if str(v.name_hint) not in (params or {})]
    if unknown:
        raise ValueError(f"the value depends on {', '.join(unknown)}, which are not known")
    bound = bind_params_by_name(function, {str(v.name_hint): params[str(v.name_hint)] for v in function.params})
    scope = IRModule.from_expr(bound) if mod is None else IRModule(mod.functions, mod.type_definitions)
    if mod is not None:
        scope["main"] = bound
    return create_executor("vm", mod=scope, target="llvm").evaluate()()


def fold_constant(node: Any, mod: IRModule | None = None) -> Any:
    """An expression with what depends on constants alone computed."""
    del mod
    return transform.FoldConstantExpr(node, IRModule())


def try_infer_value(
    val: Any, on_success: Any = None, on_failure: Any = None, parameters: Any = None
) -> tuple[Any, bool]:
    """(value, True), or (expression or what `on_failure` gives, False)."""
    try:
        value = infer_value(val, parameters or {}).numpy()
    except (ValueError, RuntimeError):
        return (on_failure() if on_failure else val), False
    return (on_success(value) if on_success else value), True


def try_resolve_var_to_const(x: Any, graph_params: dict[str, Any]) -> Any:
    """The constant that a parameter is, or the expression."""
    if isinstance(x, Var) and str(x.name_hint) in graph_params:
        value = graph_params[str(x.name_hint)].numpy()
        return const(value, str(value.dtype))
    return x


def new_var(name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32") -> Var:
    """A variable."""
    return var(name_hint, type_annotation, shape, dtype)


def shape_of(x: Expr, dtype: str = "int64", start: int | None = None, end: int | None = None) -> Any:
    """The shape as a tensor, or a part of it: a constant where it is known."""
    shape = infer_shape(x)[slice(start, end)]
    if all(isinstance(extent, int) for extent in shape):
        return const(np.array(shape, dtype), dtype)
    whole = _op.shape_of(x, dtype)
    if start is None and end is None:
        return whole
    rank = len(infer_shape(x))
    first, last, _ = slice(start, end).indices(rank)
    return _op.strided_slice(whole, begin=[first], end=[last])


def ensure_scalar_shape(x: Any) -> Any:
    """A tensor of one element without dimensions."""
    shape = infer_shape(x)
    if not shape:
        return x
    if any(extent != 1 for extent in shape):
        raise ValueError(f"one element is asked for, not {shape}")
    return _op.reshape(x, newshape=[]) if len(shape) > 1 else _op.squeeze(x, axis=[0])


def to_int_list(np_array: Any) -> list[int]:
    """Numbers of an array."""
    return [int(x) for x in np_array]


def unbind(data: Any, axis: int = 0) -> list[Any]:
    """The slices along an axis, without it."""
    shape = infer_shape(data)
    if axis >= len(shape):
        raise ValueError("Please check input dim, it shouldn't be greater than or equal to rank.")
    count = int(shape[axis])
    if count == 1:
        return [_op.squeeze(data, axis=[axis])]
    parts = _op.split(data, indices_or_sections=count, axis=axis)
    return [_op.squeeze(part, axis=[axis]) for part in parts]
