"""Functions of Relay."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from ..ir import BaseFunc, Span, Type
from ..runtime import convert
from . import _ffi_api
from .expr import Call

__all__ = ["Function", "FunctionWithFields"]


@register_object("relay.Function")
class Function(BaseFunc):
    """A function, of a module or a closure; may have type parameters."""

    def __init__(
        self,
        params: Any,
        body: Any,
        ret_type: Type | None = None,
        type_params: Any = None,
        attrs: Any = None,
        span: Span | None = None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_api.Function, convert(params), body, ret_type, convert(type_params or []), attrs, span
        )

    def __call__(self, *args: Any) -> Call:
        """A call of this function."""
        return Call(self, args, None, None)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The text of the function."""
        return super().astext(show_meta_data, annotate)


def FunctionWithFields(
    function: Function,
    params: Any = None,
    body: Any = None,
    ret_type: Type | None = None,
    ty_params: Any = None,
    attrs: Any = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> Function:
    """A copy of `function` with the parts that are given."""
    return _ffi_api.FunctionWithFields(function, params, body, ret_type, ty_params, attrs, virtual_device, span)
