"""Tensors: from and to NumPy, and shared with other systems through DLPack."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .. import _ffi_core
from .._ffi.registry import register_object
from .._ffi.runtime_ctypes import Device
from .._ffi_core import NDArrayBase
from . import _ffi_api
from .container import ShapeTuple

__all__ = [
    "NDArray",
    "array",
    "cl",
    "cpu",
    "cuda",
    "device",
    "empty",
    "ext_dev",
    "from_dlpack",
    "gpu",
    "hexagon",
    "metal",
    "mtl",
    "numpyasarray",
    "opencl",
    "rocm",
    "vpi",
    "vulkan",
    "webgpu",
]


def _numpy_dtype(dtype: str) -> np.dtype:
    """NumPy's type for an element type of one lane; bfloat16 without ml_dtypes is its bits as uint16."""
    if dtype == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            return np.dtype("uint16")
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


def _layout(dtype: str) -> tuple[np.dtype, tuple[int, ...]]:
    """NumPy's element type and what vector lanes add to the shape."""
    element, _, lanes = dtype.partition("x")
    return _numpy_dtype(element), ((int(lanes),) if lanes else ())


def _bytes(data: np.ndarray) -> np.ndarray:
    return data.reshape(-1).view(np.uint8)


@register_object("runtime.NDArray")
class NDArray(NDArrayOperatorsMixin, NDArrayBase):
    """A tensor on a device. ``x[:] = value`` sets its contents; `numpy()` gives a copy of them.

    NumPy takes it where it takes an array: `np.asarray(x)` shares the memory of a host tensor and copies that of any other
    device; indexing, arithmetic and comparisons give NumPy's results. `same_as` tells whether two are one tensor.
    """

    __slots__ = ()
    __hash__ = NDArrayBase.__hash__

    def numpy(self) -> np.ndarray:
        """A copy as a NumPy array. bfloat16 needs ml_dtypes, else its bits come as uint16."""
        element, lanes = _layout(self.dtype)
        out = np.empty(self.shape + lanes, element)
        self._copy_to_buffer(_bytes(out))
        return out

    def asnumpy(self) -> np.ndarray:
        """The old name of `numpy`."""
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """What NumPy asks for: a view of host memory, a copy where the tensor is on another device or `dtype` differs.

        bfloat16 needs ml_dtypes, else its bits come as uint16; the lanes of vector types are a last dimension.
        """
        out = self._host_view()
        is_copied = out is None
        if out is None:
            if copy is False:
                raise ValueError(
                    f"a tensor of {self.dtype} on {self.device} cannot become a NumPy array without a copy"
                )
            out = self.numpy()
        if dtype is not None and np.dtype(dtype) != out.dtype:
            if copy is False:
                raise ValueError(f"a tensor of {self.dtype} cannot become an array of {np.dtype(dtype)} without a copy")
            return out.astype(dtype)
        return out.copy() if copy and not is_copied else out

    def _host_view(self) -> np.ndarray | None:
        """The memory itself as an array; None where NumPy has no name for it, or it is borrowed or on another device."""
        try:
            memory = memoryview(self)
        except BufferError:
            return None
        return np.asarray(memory)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        arrays = [np.asarray(x) if isinstance(x, NDArray) else x for x in inputs]
        if out is None:
            return getattr(ufunc, method)(*arrays, **options)
        buffers = tuple(np.asarray(x) if isinstance(x, NDArray) else x for x in out)
        getattr(ufunc, method)(*arrays, out=buffers, **options)
        for target, buffer in zip(out, buffers):
            if isinstance(target, NDArray) and target._host_view() is None:
                target.copyfrom(buffer)
        return out[0] if len(out) == 1 else out

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        element, lanes = _layout(self.dtype)
        return math.prod(self.shape + lanes) * element.itemsize

    def __len__(self) -> int:
        return len(np.asarray(self))

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(np.asarray(self))

    def __contains__(self, value: Any) -> bool:
        return value in np.asarray(self)

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __int__(self) -> int:
        return int(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __complex__(self) -> complex:
        return complex(np.asarray(self))

    def __index__(self) -> int:
        return operator.index(np.asarray(self))  # an error unless it is one integer

    def copyfrom(self, source_array: Any) -> NDArray:
        """Sets the contents from an NDArray or anything NumPy understands, converting the element type."""
        if isinstance(source_array, NDArrayBase):
            source_array._copyto(self)
            return self
        if not isinstance(source_array, np.ndarray):
            try:
                source_array = np.array(source_array, dtype=_numpy_dtype(self.dtype.partition("x")[0]))
            except ValueError as error:
                raise TypeError(
                    f"array must be an array_like data, type {type(source_array)} is not supported"
                ) from error
        element, lanes = _layout(self.dtype)
        if source_array.shape != self.shape + lanes:
            raise ValueError(
                f"array shape do not match the shape of NDArray {source_array.shape} vs {self.shape + lanes}"
            )
        if self.dtype == "bfloat16" and source_array.dtype == np.uint16:
            element = np.dtype("uint16")  # bits as they are
        self._copy_from_buffer(_bytes(np.ascontiguousarray(source_array, dtype=element)))
        return self

    def copyto(self, target: NDArray | Device, mem_scope: str | None = None) -> NDArray:
        """Copies the contents into another tensor, or into a new one on a device."""
        if isinstance(target, NDArrayBase):
            return self._copyto(target)
        if isinstance(target, Device):
            return self._copyto(empty(self.shape, self.dtype, target, mem_scope))
        raise ValueError(f"Unsupported target type {type(target)}")

    def _create_view(self, shape: Sequence[int]) -> NDArray:
        """The same memory with another shape."""
        return _ffi_api.TVMArrayCreateView(self, ShapeTuple(shape))

    def __setitem__(self, in_slice: Any, value: Any) -> None:
        whole = in_slice is Ellipsis or (isinstance(in_slice, slice) and in_slice == slice(None))
        if not whole:
            data = np.asarray(self)
            data[in_slice] = value
            if self._host_view() is None:
                self.copyfrom(data)
        elif isinstance(value, NDArrayBase):
            if not self.same_as(value):
                value._copyto(self)
        elif isinstance(value, (np.ndarray, np.generic, int, float, list, tuple)):
            data = np.asarray(value)
            _, lanes = _layout(self.dtype)
            self.copyfrom(np.broadcast_to(data, self.shape + lanes) if data.ndim == 0 else data)
        else:
            raise TypeError(f"type {type(value)} not supported")

    def __dlpack__(self, stream: Any = None, **_: Any) -> Any:
        """The same memory for another system; see https://dmlc.github.io/dlpack."""
        return self.to_dlpack()

    def __repr__(self) -> str:
        return f"<tvm.nd.NDArray shape={self.shape}, {self.device}>\n{self.numpy()!r}"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return (_from_parts, (self.dtype, self.shape, _bytes(self.numpy()).tobytes()))


def _through_numpy(name: str) -> Any:
    """A method that NumPy's array has, on the contents."""

    def method(self: NDArray, *args: Any, **kwargs: Any) -> Any:
        return getattr(np.asarray(self), name)(*args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"NDArray.{name}"
    method.__doc__ = f"See `numpy.ndarray.{name}`; the result is NumPy's."
    return method


for _name in (
    *("all", "any", "argmax", "argmin", "argsort", "astype", "clip", "cumsum", "dot", "flatten", "item", "max", "mean"),
    *("min", "nonzero", "prod", "ravel", "reshape", "round", "squeeze", "std", "sum", "swapaxes", "tobytes", "tolist"),
    *("transpose", "var"),
):
    setattr(NDArray, _name, _through_numpy(_name))


def _from_parts(dtype: str, shape: Sequence[int], data: bytes) -> NDArray:
    out = empty(shape, dtype)
    out._copy_from_buffer(data)
    return out


def device(dev_type: int | str, dev_id: int = 0) -> Device:
    """A device by kind: a code, or a name as targets have it (``"llvm"`` means cpu)."""
    if isinstance(dev_type, str):
        name = dev_type.split()[0] if dev_type.split() else ""
        if name not in Device.STR2MASK:
            raise ValueError(f"Unknown device type {name}; known are {', '.join(Device.STR2MASK)}")
        dev_type = Device.STR2MASK[name]
    return Device(int(dev_type), dev_id)


def empty(shape: Any, dtype: Any = "float32", device: Device | None = None, mem_scope: str | None = None) -> NDArray:
    """A new tensor with undefined contents."""
    extents = [shape] if isinstance(shape, (int, np.integer)) else shape
    return _ffi_core.empty_tensor(extents, str(_dtype_text(dtype)), device or Device(1, 0), mem_scope or "")


def _dtype_text(dtype: Any) -> str:
    return str(np.dtype(dtype)) if isinstance(dtype, type) else str(dtype)


def array(arr: Any, device: Device | None = None, mem_scope: str | None = None) -> NDArray:
    """A new tensor with the contents of a NumPy array, another tensor, or nested lists."""
    if isinstance(arr, NDArrayBase):
        return arr.copyto(device or Device(1, 0), mem_scope)
    if not isinstance(arr, np.ndarray):
        arr = np.array(arr)
    dtype = arr.dtype if arr.dtype.isnative else arr.dtype.newbyteorder("=")
    return empty(arr.shape, dtype, device, mem_scope).copyfrom(arr)


def from_dlpack(dltensor: Any) -> NDArray:
    """A tensor on the memory of another system's: a capsule, or anything with ``__dlpack__`` (NumPy, PyTorch, ...).

    Nothing is copied. The data has to be row-major without gaps and to start at a multiple of its element size, because
    compiled code counts on both; `array` copies what is not so.
    """
    if hasattr(dltensor, "__dlpack__"):
        dltensor = dltensor.__dlpack__()
    return _ffi_core.tensor_from_dlpack(dltensor)


def numpyasarray(np_data: np.ndarray) -> NDArray:
    """A tensor on the memory of a NumPy array; see from_dlpack."""
    return from_dlpack(np_data)


def cpu(dev_id: int = 0) -> Device:
    """A CPU device."""
    return Device(1, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """An NVIDIA GPU."""
    return Device(2, dev_id)


def gpu(dev_id: int = 0) -> Device:
    """The old name of `cuda`."""
    return Device(2, dev_id)


def opencl(dev_id: int = 0) -> Device:
    """An OpenCL device."""
    return Device(4, dev_id)


def vulkan(dev_id: int = 0) -> Device:
    """A Vulkan device."""
    return Device(7, dev_id)


def metal(dev_id: int = 0) -> Device:
    """A Metal device."""
    return Device(8, dev_id)


def vpi(dev_id: int = 0) -> Device:
    """A simulated device."""
    return Device(9, dev_id)


def rocm(dev_id: int = 0) -> Device:
    """An AMD GPU."""
    return Device(10, dev_id)


def ext_dev(dev_id: int = 0) -> Device:
    """A device of an extension."""
    return Device(12, dev_id)


def hexagon(dev_id: int = 0) -> Device:
    """A Hexagon DSP."""
    return Device(14, dev_id)


def webgpu(dev_id: int = 0) -> Device:
    """A WebGPU device."""
    return Device(15, dev_id)


cl = opencl
mtl = metal
