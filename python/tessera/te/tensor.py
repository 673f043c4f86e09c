"""Tensors, and the operations that produce them."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_object
from ..ir import PrimExpr
from ..runtime.object import Object
from ..runtime.object_generic import ObjectGeneric, convert_to_object
from ..tir import expr as _expr
from ..tir.buffer import DataProducer
from ..tir.operators import EqualOp, ExprOp
from . import _ffi_api


class TensorSlice(ObjectGeneric, ExprOp):
    """An element of a tensor, or a row of elements that takes further indices: ``A[i]`` where A has two dimensions."""

    def __init__(self, tensor: Tensor, indices: Any):
        self.tensor = tensor
        self.indices = indices if isinstance(indices, tuple) else (indices,)

    def __getitem__(self, indices: Any) -> TensorSlice:
        indices = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self.tensor, self.indices + indices)

    def asobject(self) -> Any:
        """The element as an expression."""
        return self.tensor(*self.indices)

    @property
    def dtype(self) -> str:  # type: ignore[override]
        """The type of the tensor's elements."""
        return self.tensor.dtype


@register_object
class TensorIntrinCall(Object):
    """A call of a tensor intrinsic, as the body of a computation."""


@register_object
class Tensor(DataProducer, ExprOp):
    """An output of an operation; made by `placeholder`, `compute`, `scan` and `extern`."""

    def __call__(self, *indices: Any) -> Any:
        if len(indices) != self.ndim:
            raise ValueError(f"Need to provide {self.ndim} index in tensor but {len(indices)} was provided")
        args = []
        for index in convert_to_object(list(indices)):
            if isinstance(index, PrimExpr):
                args.append(index)
            elif isinstance(index, _expr.IterVar):
                args.append(index.var)
            else:
                raise ValueError("The indices must be expression")
        return _expr.ProducerLoad(self, args)

    def __getitem__(self, indices: Any) -> TensorSlice:
        return TensorSlice(self, indices)

    def __hash__(self) -> int:
        return _ffi_api.TensorHash(self)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, Tensor):
            return EqualOp(self, other) if isinstance(other, ExprOp) else False
        if self.ndim == 0 and other.ndim == 0:
            raise ValueError(
                "Equal == comparison among rank-0 tensor is ambiguous, "
                "use Tensor.equal for content expression equvalence, "
                "use Tensor.same_as for exact reference comparison"
            )
        return _ffi_api.TensorEqual(self, other)

    def __ne__(self, other: Any) -> Any:
        if isinstance(other, Tensor):
            return not _ffi_api.TensorEqual(self, other)
        return ExprOp.__ne__(self, other)

    def __repr__(self) -> str:
        return _ffi_api.TensorText(self)

    __str__ = __repr__

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def axis(self) -> Any:
        """The axes of the operation."""
        return self._field("axis")

    @property
    def op(self) -> Any:
        """The operation that produces it."""
        return self._field("op")

    @property
    def value_index(self) -> int:
        """Which output of the operation it is."""
        return self._field("value_index")

    @property
    def shape(self) -> Any:
        """Its shape, possibly symbolic."""
        return self._field("shape")

    @property
    def name(self) -> str:
        """The name of its operation, with the number of the output where there are several."""
        op = self.op
        return op.name if op.num_outputs == 1 else f"{op.name}.v{self.value_index}"


@register_object
class Operation(Object):
    """Produces one or more tensors."""

    def output(self, index: int) -> Tensor:
        """Output number `index`."""
        return _ffi_api.OpGetOutput(self, index)

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return _ffi_api.OpNumOutputs(self)

    @property
    def input_tensors(self) -> Any:
        """Tensors it reads."""
        return _ffi_api.OpInputTensors(self)


@register_object
class PlaceholderOp(Operation):
    """A tensor given from outside."""


@register_object
class BaseComputeOp(Operation):
    """A computation over axes."""

    @property
    def axis(self) -> Any:
        """The axes of the result."""
        return self._field("axis")

    @property
    def reduce_axis(self) -> Any:
        """The axes reduced over."""
        return self._field("reduce_axis")


@register_object
class ComputeOp(BaseComputeOp):
    """One expression per point of its axes."""


@register_object
class TensorComputeOp(BaseComputeOp):
    """A tensor intrinsic per point of its axes."""


@register_object
class ScanOp(Operation):
    """A sequential recurrence."""

    @property
    def scan_axis(self) -> Any:
        """The axis that is walked in order."""
        return self._field("scan_axis")


@register_object
class ExternOp(Operation):
    """A statement of the user's own."""


@register_object
class HybridOp(Operation):
    """A hybrid script function."""

    @property
    def axis(self) -> Any:
        """The loops of the function."""
        return self._field("axis")
