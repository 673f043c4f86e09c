"""Which templates compute a call of an operator: a row each, of the operator, the kind of target, the task's name, what fits it, and the
arguments that a strategy of v0.10 gives it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir import Op
from ...target import Target

__all__ = ["Workload", "workloads_of_call"]

Workload = tuple[str, tuple[Any, ...]]

_INT8 = ("int8", "uint8")


def _ints(values: Any) -> tuple[int, ...]:
    return tuple(int(each) for each in values)


def _tensor(type_: Any) -> tuple[str, tuple[int, ...], str]:
    shape = tuple(int(extent) for extent in type_.shape)  # a dynamic one is no int
    return ("TENSOR", shape, str(type_.dtype))


class _Call:
    """A typed call of an operator, as rows ask about it."""

    def __init__(self, call: Any, target: Any) -> None:
        self.attrs, self.target = call.attrs, target
        self.inputs = [_tensor(arg.checked_type) for arg in call.args]
        self.out = _tensor(call.checked_type)
        self.types = tuple(each[2] for each in self.inputs)

    @functools.cached_property
    def groups(self) -> int:
        return int(self.attrs.groups)

    def has_layouts(self, data: str, kernel: str) -> bool:
        """True where a convolution has them."""
        return str(self.attrs.data_layout) == data and str(self.attrs.kernel_layout) == kernel

    def extents(self, which: int, layout: str, letters: str) -> list[int]:
        """Those of an input by letters of its layout."""
        return [self.inputs[which][1][layout.index(letter)] for letter in letters]

    def is_depthwise(self) -> bool:
        """True where each channel (of NCHW) is a group."""
        channels = self.inputs[0][1][1]
        return self.groups == channels == self.inputs[1][1][0] and self.groups > 1

    def are_int8(self) -> bool:
        """True where both operands are 8-bit integers."""
        return self.types[0] in _INT8 and self.types[1] in _INT8

    @functools.cached_property
    def windows(self) -> tuple[Any, ...]:
        """Strides, paddings of all sides and dilation."""
        attrs, spatial = self.attrs, len(self.attrs.strides)
        pads = _ints(attrs.padding)
        pads = pads * (2 * spatial) if len(pads) == 1 else pads * 2 if len(pads) == spatial else pads
        return (
            (_ints(attrs.strides), pads, _ints(attrs.dilation))
            if hasattr(attrs, "dilation")
            else (_ints(attrs.strides), pads)
        )


# ---- arguments, in the order of v0.10's computes -----------------------------------------------------------------------


def _conv(call: _Call) -> tuple[Any, ...]:
    return (*call.inputs[:2], *call.windows, call.out[2])


def _group_conv(call: _Call) -> tuple[Any, ...]:
    return (*call.inputs[:2], *call.windows, call.groups, call.out[2])


def _conv_in_layouts(call: _Call) -> tuple[Any, ...]:
    layout = str(call.attrs.data_layout)
    return (*call.inputs[:2], *call.windows, layout, str(call.attrs.out_layout) or layout, call.out[2])


def _conv_in_layout(call: _Call) -> tuple[Any, ...]:
    return (*call.inputs[:2], *call.windows, str(call.attrs.data_layout), call.out[2])


def _transposed(call: _Call) -> tuple[Any, ...]:
    return (*call.inputs[:2], *call.windows[:2], call.out[2], _ints(call.attrs.output_padding))


def _group_transposed(call: _Call) -> tuple[Any, ...]:
    return (*_transposed(call), call.groups)


def _deformable(call: _Call) -> tuple[Any, ...]:
    return (*call.inputs[:3], *call.windows, int(call.attrs.deformable_groups), call.groups, call.out[2])


def _correlation(call: _Call) -> tuple[Any, ...]:
    attrs = call.attrs
    numbers = (attrs.kernel_size, attrs.max_displacement, attrs.stride1, attrs.stride2)
    return (*call.inputs[:2], *map(int, numbers), _ints(attrs.padding), bool(attrs.is_multiply))


def _dense(call: _Call) -> tuple[Any, ...]:
    return (*call.inputs[:2], None, call.out[2])


def _dense_vnni(call: _Call) -> tuple[Any, ...]:
    n, k = call.inputs[1][1]
    return (call.inputs[0], ("TENSOR", (n // 16, k // 4, 16, 4), call.types[1]), None, call.out[2])


def _matmul(call: _Call) -> tuple[Any, ...]:
    return (*_dense(call), bool(call.attrs.transpose_a), bool(call.attrs.transpose_b))


def _batch_matmul(call: _Call) -> tuple[Any, ...]:
    flags = bool(call.attrs.transpose_a), bool(call.attrs.transpose_b)
    return (*call.inputs[:2], call.out[1], call.out[2], *flags)


# ---- what fits ---------------------------------------------------------------------------------------------------------


def _plain(data: str, kernel: str) -> Callable[[_Call], bool]:
    return lambda call: call.groups == 1 and call.has_layouts(data, kernel) and not call.are_int8()


def _grouped(data: str, kernel: str) -> Callable[[_Call], bool]:
    return lambda call: call.groups > 1 and call.has_layouts(data, kernel) and not call.are_int8()


def _in_floats(fits: Callable[[_Call], bool]) -> Callable[[_Call], bool]:
    return lambda call: fits(call) and call.types[0] == "float32"


def _is_depthwise_nchw(call: _Call) -> bool:
    return _grouped("NCHW", "OIHW")(call) and call.is_depthwise()


def _is_grouped_nchw(call: _Call) -> bool:
    return _grouped("NCHW", "OIHW")(call) and not call.is_depthwise()


def _is_depthwise_of_one(call: _Call) -> bool:
    return _is_depthwise_nchw(call) and call.inputs[1][1][1] == 1


def _is_int8_for_x86(call: _Call) -> bool:
    if call.types[:2] != ("uint8", "int8") or call.groups != 1 or not call.has_layouts("NCHW", "OIHW"):
        return False
    outs, ins = call.inputs[1][1][:2]
    return outs % 16 == 0 and ins % 4 == 0


def _is_int8_on_gpu(is_grouped: bool) -> Callable[[_Call], bool]:
    def fits(call: _Call) -> bool:
        if not call.are_int8() or (call.groups > 1) != is_grouped:
            return False
        outs, ins = call.inputs[1][1][:2]
        by_fours = call.has_layouts("NCHW", "OIHW") and outs % 4 == 0 and ins % 4 == 0
        return by_fours or call.has_layouts("NCHW4c", "OIHW4o4i")

    return fits


def _is_winograd(call: _Call, layout: str, kernel_layout: str) -> bool:
    if not _plain(layout, kernel_layout)(call) or any(each != 1 for each in (*call.windows[0], *call.windows[2])):
        return False
    height, width = call.extents(1, kernel_layout, "HW")
    return 2 < height < 8 and height == width


def _is_dense(call: _Call) -> bool:
    return len(call.inputs[0][1]) == 2 and len(call.inputs[1][1]) == 2


def _is_dense_by_vnni(call: _Call) -> bool:
    if not _is_dense(call) or call.types[:2] != ("uint8", "int8") or call.out[2] != "int32":
        return False
    n, k = call.inputs[1][1]
    return n % 16 == 0 and k % 4 == 0


def _is_batch_matmul_int8(call: _Call) -> bool:
    is_plain = not call.attrs.transpose_a and bool(call.attrs.transpose_b)
    return call.are_int8() and call.out[2] == "int32" and is_plain and call.inputs[0][1][2] % 4 == 0


def _is_batch_matmul_by_vnni(call: _Call) -> bool:
    return _is_batch_matmul_int8(call) and call.types == ("uint8", "int8") and call.inputs[1][1][1] % 16 == 0


def _is_dense_int8(call: _Call) -> bool:
    return _is_dense(call) and call.are_int8() and call.inputs[0][1][1] % 4 == 0


def _has_layout(name: str) -> Callable[[_Call], bool]:
    def fits(call: _Call) -> bool:
        attrs = call.attrs
        layout = attrs.data_layout if hasattr(attrs, "data_layout") else attrs.layout
        return str(layout) == name and int(getattr(attrs, "groups", 1)) == 1

    return fits


class _Row(NamedTuple):
    task: str
    fits: Callable[[_Call], bool]
    arguments: Callable[[_Call], tuple[Any, ...]]


_CPU: dict[str, list[_Row]] = {
    "nn.conv2d": [
        _Row("conv2d_NCHWc.x86", _in_floats(_plain("NCHW", "OIHW")), _conv_in_layouts),
        _Row("depthwise_conv2d_NCHWc.x86", _in_floats(_is_depthwise_of_one), _conv_in_layouts),
        _Row("group_conv2d_nchw.x86", _in_floats(_is_grouped_nchw), _group_conv),
        _Row("conv2d_NCHWc_int8.x86", _is_int8_for_x86, _conv_in_layouts),
    ],
    "nn.conv3d": [
        _Row("conv3d_ncdhw.x86", _in_floats(lambda call: call.has_layouts("NCDHW", "OIDHW")), _group_conv),
        _Row("conv3d_ndhwc.x86", _in_floats(lambda call: call.has_layouts("NDHWC", "DHWIO")), _group_conv),
    ],
    "nn.dense": [
        _Row("dense_nopack.x86", _is_dense, _dense),
        _Row("dense_pack.x86", _is_dense, _dense),
        _Row("dense_vnni.x86", _is_dense_by_vnni, _dense_vnni),
    ],
    "nn.batch_matmul": [
        _Row("batch_matmul.x86", lambda call: True, _batch_matmul),
        _Row("batch_matmul_vnni.x86", _is_batch_matmul_by_vnni, _batch_matmul),
    ],
}

_GPU: dict[str, list[_Row]] = {
    "nn.conv1d": [
        _Row("conv1d_ncw.cuda", _plain("NCW", "OIW"), _conv),
        _Row("conv1d_nwc.cuda", _plain("NWC", "WIO"), _conv),
        _Row("group_conv1d_ncw.cuda", _grouped("NCW", "OIW"), _group_conv),
        _Row("group_conv1d_nwc.cuda", _grouped("NWC", "WIO"), _group_conv),
    ],
    "nn.conv2d": [
        _Row("conv2d_nchw.cuda", _plain("NCHW", "OIHW"), _conv),
        _Row("conv2d_nchw_winograd.cuda", lambda call: _is_winograd(call, "NCHW", "OIHW"), _conv),
        _Row("conv2d_nhwc_winograd_direct.cuda", lambda call: _is_winograd(call, "NHWC", "HWIO"), _conv),
        _Row("conv2d_hwcn.cuda", _plain("HWCN", "HWIO"), _conv),
        _Row("conv2d_nhwc.gpu", _plain("NHWC", "HWIO"), _conv),
        _Row("conv2d_NCHWc_int8.cuda", _is_int8_on_gpu(False), _conv_in_layout),
        _Row("depthwise_conv2d_nchw.cuda", _is_depthwise_nchw, _conv),
        _Row("group_conv2d_nchw.cuda", _is_grouped_nchw, _group_conv),
        _Row("group_conv2d_NCHWc_int8.cuda", _is_int8_on_gpu(True), _group_conv),
    ],
    "nn.conv3d": [
        _Row("conv3d_ncdhw.cuda", _plain("NCDHW", "OIDHW"), _group_conv),
        _Row("conv3d_ndhwc.cuda", _plain("NDHWC", "DHWIO"), _group_conv),
    ],
    "nn.conv1d_transpose": [_Row("conv1d_transpose_nchw.cuda", _has_layout("NCW"), _transposed)],
    "nn.conv2d_transpose": [
        _Row("conv2d_transpose_nchw.cuda", lambda call: str(call.attrs.data_layout) == "NCHW", _group_transposed)
    ],
    "nn.conv3d_transpose": [_Row("conv3d_transpose_ncdhw.cuda", _has_layout("NCDHW"), _transposed)],
    "nn.deformable_conv2d": [
        _Row("deformable_conv2d_nchw.cuda", lambda call: str(call.attrs.data_layout) == "NCHW", _deformable)
    ],
    "nn.correlation": [_Row("correlation_nchw.cuda", _has_layout("NCHW"), _correlation)],
    "nn.dense": [
        _Row("dense_int8.cuda", _is_dense_int8, _dense),
        _Row("dense_small_batch.gpu", lambda call: _is_dense(call) and not call.are_int8(), _dense),
        _Row(
            "dense_large_batch.gpu",
            lambda call: _is_dense(call) and not call.are_int8() and call.inputs[0][1][0] >= 32,
            _dense,
        ),
    ],
    "nn.matmul": [_Row("matmul_default.gpu", _is_dense, _matmul)],
    "nn.batch_matmul": [
        _Row("batch_matmul_int8.cuda", _is_batch_matmul_int8, _batch_matmul),
        _Row("batch_matmul.cuda", lambda call: not _is_batch_matmul_int8(call), _batch_matmul),
    ],
}


def _rows_for(target: Any) -> dict[str, list[_Row]]:
    if str(target.kind.name) == "llvm":
        return _CPU
    return _GPU if "gpu" in [str(key) for key in target.keys] else {}


def workloads_of_call(call: Any, target: Any = None) -> list[Workload]:
    """Names of templates and their arguments for a typed call of an operator; none where no template computes it."""
    target = target if target is not None else Target("llvm")
    name = call.op.name if isinstance(call.op, Op) else ""
    rows = _rows_for(target).get(name, [])
    if not rows:
        return []
    try:
        known = _Call(call, target)
        return [(row.task, row.arguments(known)) for row in rows if row.fits(known)]
    except (TypeError, ValueError, AttributeError):  # dynamic extents
        return []
