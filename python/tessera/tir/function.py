"""Loop programs with parameters, tensor intrinsics and maps of indices."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from .._ffi.registry import get_global_func, register_object
from ..ir import Array, BaseFunc, PrimExpr, Span
from ..runtime.object import Object
from ..runtime.object_generic import convert
from . import _ffi_api
from .buffer import Buffer
from .expr import Var

__all__ = ["IndexMap", "PrimFunc", "TensorIntrin"]


@register_object("tir.PrimFunc")
class PrimFunc(BaseFunc):
    """A loop program. A Buffer among `params` stands for a handle that is mapped to it."""

    def __init__(
        self,
        params: Any,
        body: Any,
        ret_type: Any = None,
        buffer_map: Any = None,
        preflattened_buffer_map: Any = None,
        attrs: Any = None,
        span: Span | None = None,
    ):
        variables = []
        buffers = dict(buffer_map.items()) if buffer_map is not None else {}
        for param in params:
            param = convert(param) if not isinstance(param, Object) else param
            if isinstance(param, Buffer):
                var = Var(param.name, dtype="handle")
                variables.append(var)
                buffers[var] = param
            elif isinstance(param, Var):
                variables.append(param)
            else:
                raise TypeError(f"params can only be Var or Buffer, got {param!r}")
        self.__init_handle_by_constructor__(
            _ffi_api.PrimFunc,
            variables,
            body,
            ret_type,
            buffers,
            dict(preflattened_buffer_map.items()) if preflattened_buffer_map is not None else {},
            attrs,
            span,
        )

    @property
    def attrs(self) -> Any:
        """The attributes; None where there are none."""
        return _ffi_api.PrimFuncAttrs(self)

    def with_body(self, new_body: Any, span: Span | None = None) -> PrimFunc:
        """The same function with another body."""
        return PrimFunc(
            self.params,
            new_body,
            self.ret_type,
            self.buffer_map,
            self.preflattened_buffer_map,
            self.attrs,
            span,
        )

    def specialize(self, param_map: dict[Var, PrimExpr | Buffer]) -> PrimFunc:
        """The function with values in place of some parameters, and with shapes that follow from given buffers."""
        return _ffi_api.Specialize(self, param_map)

    def script(self, tir_prefix: str = "T", show_meta: bool = False) -> str:
        """The function as TVMScript."""
        return get_global_func("script.AsTVMScript")(self, tir_prefix, show_meta)

    def show(self, style: str | None = None) -> None:
        """Prints the function as TVMScript, in colours where that is possible."""
        from ..script.highlight import cprint

        cprint(self, style=style)


@register_object("tir.TensorIntrin")
class TensorIntrin(Object):
    """A piece of computation and the hardware's way of doing it."""

    def __init__(self, desc: PrimFunc, impl: PrimFunc):
        self.__init_handle_by_constructor__(_ffi_api.TensorIntrin, desc, impl)

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> None:
        """Makes an intrinsic known by name."""
        _ffi_api.TensorIntrinRegister(name, TensorIntrin(desc, impl), override)

    @staticmethod
    def get(name: str) -> TensorIntrin:
        """The intrinsic of that name."""
        return _ffi_api.TensorIntrinGet(name)


@register_object("tir.IndexMap")
class IndexMap(Object):
    """Where an element goes: `final_indices` in terms of `initial_indices`."""

    initial_indices: list[Var]
    final_indices: list[PrimExpr]

    #: Between the final indices given to from_func_with_separators: a physical dimension begins here.
    AXIS_SEPARATOR = "axis_separator"

    def __init__(self, initial_indices: Any, final_indices: Any, inverse_index_map: IndexMap | None):
        self.__init_handle_by_constructor__(_ffi_api.IndexMap, initial_indices, final_indices, inverse_index_map)

    @staticmethod
    def from_func(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Callable[..., Any] | IndexMap | None = None,
    ) -> IndexMap:
        """The map that a Python function on indices describes.

        `ndim` says how many indices a function with ``*args`` takes.
        """
        index_map, separators = IndexMap.from_func_with_separators(mapping_function, ndim, inverse_index_map)
        if separators:
            raise ValueError("axis separators are for IndexMap.from_func_with_separators")
        return index_map

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Callable[..., Any] | IndexMap | None = None,
    ) -> tuple[IndexMap, list[int]]:
        """The map, and before which of its final indices AXIS_SEPARATOR stood."""
        args, kwargs = _index_variables(mapping_function, ndim)
        final: list[Any] = []
        separators: list[int] = []
        for index in mapping_function(*args, **{var.name: var for var in kwargs}):
            if isinstance(index, str) and index == IndexMap.AXIS_SEPARATOR:
                separators.append(len(final))
            elif isinstance(index, (int, PrimExpr)):
                final.append(index)
            else:
                raise TypeError(
                    "a mapping function gives expressions, integers or IndexMap.AXIS_SEPARATOR, "
                    f"not {index!r} of type {type(index).__name__}"
                )
        inverse = inverse_index_map
        if inverse is not None and not isinstance(inverse, IndexMap):
            inverse = IndexMap.from_func(inverse, ndim=len(final))
        return IndexMap([*args, *kwargs], final, inverse), separators

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """True when both maps send every index to the same one."""
        return bool(_ffi_api.IndexMapIsEquivalentTo(self, other_map))

    def map_indices(self, indices: Any) -> Array:
        """Where the element at `indices` goes."""
        return _ffi_api.IndexMapMapIndices(self, indices)

    def map_shape(self, shape: Any) -> Array:
        """The shape after the map of a buffer of `shape`."""
        return _ffi_api.IndexMapMapShape(self, _ranges(shape))

    def inverse(self, shape: Any) -> IndexMap:
        """The map back, for a buffer of `shape`; an error when there is none."""
        return _ffi_api.IndexMapInverse(self, _ranges(shape))

    def non_surjective_inverse(self, shape: Any) -> tuple[IndexMap, PrimExpr]:
        """The map back where some indices after the map are padding, and the condition of being padding."""
        return tuple(_ffi_api.IndexMapNonSurjectiveInverse(self, _ranges(shape)))


def _ranges(shape: Any) -> list[Any]:
    from ..ir import Range

    return [Range(dim) if isinstance(dim, (int, PrimExpr)) else dim for dim in shape]


def _index_variables(mapping_function: Callable[..., Any], ndim: int | None) -> tuple[list[Var], list[Var]]:
    """Variables for the parameters of a function: those passed by position, and those by name."""
    args: list[Var] = []
    kwargs: list[Var] = []
    variadic: str | None = None
    for name, param in inspect.signature(mapping_function).parameters.items():
        if param.kind in (param.POSITIONAL_ONLY, param.POSITIONAL_OR_KEYWORD):
            args.append(Var(name, "int32"))
        elif param.kind is param.KEYWORD_ONLY:
            kwargs.append(Var(name, "int32"))
        elif param.kind is param.VAR_POSITIONAL:
            variadic = name
        else:
            raise ValueError("a mapping function cannot take **kwargs")
    if variadic is None:
        if ndim is not None and ndim != len(args) + len(kwargs):
            raise ValueError(f"ndim is {ndim}, but the function takes {len(args) + len(kwargs)} indices")
        return args, kwargs
    if ndim is None:
        raise ValueError("ndim must be given for a mapping function with *args")
    for i in range(ndim - len(args) - len(kwargs)):
        args.append(Var(f"{variadic}_{i}", "int32"))
    return args, kwargs
