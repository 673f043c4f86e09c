"""Memory as loops see it."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from .._ffi.registry import register_object
from ..ir import PointerType, PrimExpr, PrimType, Range, Span
from ..runtime.object import Object
from . import _ffi_api
from .expr import BufferLoad, Ramp, Var

__all__ = ["Buffer", "DataProducer", "decl_buffer"]

_ACCESS_BITS = {"r": 1, "w": 2}


@register_object("tir.Buffer")
class Buffer(Object):
    """A (possibly strided, possibly offset) n-dimensional view of memory; see decl_buffer."""

    READ = 1
    WRITE = 2

    def access_ptr(
        self,
        access_mask: str | int,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> PrimExpr:
        """A pointer for foreign code: to read ("r"), to write ("w") or both, from element `offset` on."""
        if isinstance(access_mask, str):
            mask = 0
            for letter in access_mask:
                if letter not in _ACCESS_BITS:
                    raise ValueError(f"Unknown access_mask {access_mask!r}: it is made of 'r' and 'w'")
                mask |= _ACCESS_BITS[letter]
            access_mask = mask
        return _ffi_api.BufferAccessPtr(self, access_mask, ptr_type, content_lanes, offset, extent)

    def vload(self, begin: Any, dtype: str | None = None) -> PrimExpr:
        """A load of type `dtype` (vectors lie along the last dimension) that begins at `begin`."""
        begin = (begin,) if isinstance(begin, (int, PrimExpr)) else begin
        return _ffi_api.BufferVLoad(self, begin, dtype or self.dtype)

    def vstore(self, begin: Any, value: Any) -> Any:
        """A store of `value`, perhaps a vector, that begins at `begin`."""
        begin = (begin,) if isinstance(begin, (int, PrimExpr)) else begin
        return _ffi_api.BufferVStore(self, begin, value)

    def scope(self) -> str:
        """Where the memory is: "global", "shared", ..."""
        return _ffi_api.BufferStorageScope(self)

    def get_flattened_buffer(self) -> Buffer:
        """The same memory as one dimension (one for each physical dimension)."""
        return _ffi_api.BufferGetFlattenedBuffer(self)

    def offset_of(self, indices: Any) -> Any:
        """The position of an element in the flattened buffer."""
        return _ffi_api.BufferOffsetOf(self, indices)

    def __getitem__(self, indices: Any) -> Any:
        if not isinstance(indices, (tuple, list)):
            indices = [indices]
        if any(isinstance(index, slice) and index.step is None for index in indices):
            return self._region(indices)
        return BufferLoad(self, [self._vector(i, x) if isinstance(x, slice) else x for i, x in enumerate(indices)])

    def _bounds(self, axis: int, index: slice) -> tuple[Any, Any]:
        begin = 0 if index.start is None else index.start
        return begin, self.shape[axis] if index.stop is None else index.stop

    def _region(self, indices: Any) -> Any:
        from .stmt import BufferRegion

        region = []
        for axis, index in enumerate(indices):
            if isinstance(index, slice):
                begin, end = self._bounds(axis, index)
                region.append(Range.from_min_extent(begin, _simplified(end - begin)))
            else:
                region.append(Range.from_min_extent(index, 1))
        return BufferRegion(self, region)

    def _vector(self, axis: int, index: slice) -> Any:
        begin, end = self._bounds(axis, index)
        lanes = _simplified((end - begin + index.step - 1) // index.step)
        return begin if lanes == 1 else Ramp(begin, index.step, int(lanes))


def _simplified(value: Any) -> Any:
    if not isinstance(value, PrimExpr):
        return value
    from ..arith import Analyzer

    return Analyzer().simplify(value)


def decl_buffer(
    shape: Any,
    dtype: str | None = None,
    name: str = "buffer",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    span: Span | None = None,
) -> Buffer:
    """A symbolic buffer.

    A pointer is made when no `data` is given. `offset_factor` other than 0 without `elem_offset` makes the offset a
    variable that is a multiple of it. With buffer_type "auto_broadcast" every dimension has a stride of its own, 0
    where the dimension is broadcast.
    """
    shape = (shape,) if isinstance(shape, (PrimExpr, Integral)) else shape
    dtype = "float32" if dtype is None else dtype
    if offset_factor != 0 and elem_offset is None:
        index_dtype = shape[0].dtype if shape and hasattr(shape[0], "dtype") else "int32"
        elem_offset = Var(f"{name}_elem_offset", index_dtype)
    if data is None:
        # bool is one bit in the language and one byte in memory
        storage = PrimType("int8" if dtype == "bool" else dtype)
        data = Var(name, PointerType(storage, scope), span)
    return _ffi_api.Buffer(
        data,
        dtype,
        shape,
        () if strides is None else strides,
        elem_offset,
        name,
        data_alignment,
        offset_factor,
        buffer_type,
        [] if axis_separators is None else axis_separators,
        span,
    )


@register_object("DataProducer")
class DataProducer(Object):
    """Something that produces tensors and can be loaded from before buffers exist."""
