"""conv2d_nchw_winograd.cuda and conv2d_nhwc_winograd_direct.cuda: transforms by one thread an element, and a batched matmul in tiles."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...topi._records import const_tuple
from ...topi.nn import pad
from ...topi.nn.utils import get_pad_tuple
from ...topi.nn.winograd import winograd_transform_matrices
from ..task import register_topi_compute, register_topi_schedule
from .contractions import as_outs, inline_copies, stages_before
from .gpu_tiles import Tiles, bind_elements, schedule_tiles, unroll_knobs

__all__: list[str] = []

_LARGE_TILE, _SMALL_TILE = 4, 2  # of results; the large one where it divides the image well


def _knobs(cfg: Any, sums: Any) -> dict[str, Any]:
    extents = [int(axis.dom.extent) for axis in sums.op.axis]
    cfg.define_split(
        "tile_b", extents[0] * extents[1], num_outputs=4, filter=lambda each: list(each.size[1:]) == [1, 1, 1]
    )
    cfg.define_split("tile_y", extents[2], num_outputs=4)
    cfg.define_split("tile_x", extents[3], num_outputs=4)
    cfg.define_split("tile_rc", int(sums.op.reduce_axis[0].dom.extent), num_outputs=2)
    unroll_knobs(cfg, (0, 128, 1500))
    if cfg.is_fallback:
        for word in ("tile_y", "tile_x"):
            cfg.fallback_split(word, [-1, 1, 8, 2])
        cfg.fallback_split("tile_rc", [-1, 8])
    return {word: cfg[word] for word in ("tile_y", "tile_x", "tile_rc")}


_TILES = Tiles("- - tile_y tile_x", "tile_rc", define=_knobs)


def _winograd(
    cfg: Any, data: Any, kernel: Any, steps: Any, padding: Any, dilation: Any, dtype: Any, layout: str
) -> Any:
    kernel_layout = "OIHW" if layout == "NCHW" else "HWIO"
    batch, ins, height, width = (int(data.shape[layout.index(letter)]) for letter in "NCHW")
    outs, _, size, other = (int(kernel.shape[kernel_layout.index(letter)]) for letter in "OIHW")
    if size != other or any(each != 1 for each in (*const_tuple(steps, 2), *const_tuple(dilation, 2))):
        raise ValueError("Winograd's convolutions have square kernels, strides of 1 and no dilation")
    top, left, bottom, right = (int(each) for each in get_pad_tuple(padding, (size, size)))
    out_h, out_w = height + top + bottom - size + 1, width + left + right - size + 1
    tile = _LARGE_TILE if height % 8 == 0 else _SMALL_TILE
    alpha = tile + size - 1
    rows, columns = -(-out_h // tile), -(-out_w // tile)
    a, b, g = winograd_transform_matrices(tile, size, dtype)

    def at(names: str, **index: Any) -> tuple[Any, ...]:
        return tuple(index[letter.lower()] for letter in names)

    before, after = at(layout, n=0, c=0, h=top, w=left), at(layout, n=0, c=0, h=bottom + tile, w=right + tile)
    padded = pad(data, list(before), list(after), name="data_pad")
    ry, rx = te.reduce_axis((0, size), name="ry"), te.reduce_axis((0, size), name="rx")
    weights = te.compute(
        (alpha, alpha, ins, outs),
        lambda y, x, i, o: te.sum(
            kernel[at(kernel_layout, o=o, i=i, h=ry, w=rx)].astype(dtype) * g[y, ry] * g[x, rx], axis=[ry, rx]
        ),
        name="kernel_pack",
    )

    def element(c: Any, p: Any, y: Any, x: Any) -> Any:
        tile_row: Any = tir.floormod(tir.floordiv(p, columns), rows)
        tile_column: Any = tir.floormod(p, columns)
        row, column = tile_row * tile + y, tile_column * tile + x
        return padded[at(layout, n=tir.floordiv(p, rows * columns), c=c, h=row, w=column)].astype(dtype)

    dy, dx = te.reduce_axis((0, alpha), name="dy"), te.reduce_axis((0, alpha), name="dx")
    pixels = te.compute(
        (alpha, alpha, ins, batch * rows * columns),
        lambda y, x, c, p: te.sum(element(c, p, dy, dx) * b[dy, y] * b[dx, x], axis=[dy, dx]),
        name="data_pack",
    )
    ci: Any = te.reduce_axis((0, ins), name="ci")
    sums = te.compute(
        (alpha, alpha, outs, batch * rows * columns),
        lambda y, x, o, p: te.sum(weights[y, x, ci, o] * pixels[y, x, ci, p], axis=ci),
        name="bgemm",
        tag="winograd_bgemm",
    )
    ay, ax = te.reduce_axis((0, alpha), name="ay"), te.reduce_axis((0, alpha), name="ax")
    inverse = te.compute(
        (outs, batch * rows * columns, tile, tile),
        lambda o, p, y, x: te.sum(sums[ay, ax, o, p] * a[ay, y] * a[ax, x], axis=[ay, ax]),
        name="inverse",
    )

    def result(n: Any, o: Any, y: Any, x: Any) -> Any:
        p = (n * rows + tir.floordiv(y, tile)) * columns + tir.floordiv(x, tile)
        return inverse[o, p, tir.floormod(y, tile), tir.floormod(x, tile)]

    cfg.add_flop(2 * batch * outs * out_h * out_w * ins * size * size)
    if layout == "NCHW":
        return te.compute((batch, outs, out_h, out_w), result, name="output", tag="conv2d_nchw_winograd")
    return te.compute(
        (batch, out_h, out_w, outs), lambda n, y, x, o: result(n, o, y, x), name="output", tag="conv2d_nhwc_winograd"
    )


def _schedule(cfg: Any, outs: Any) -> Any:
    outs = as_outs(outs)
    s = te.create_schedule([out.op for out in outs])
    inline_copies(s, outs)
    reductions = [op for op in stages_before(outs) if op.reduce_axis]
    sums = next(op for op in reductions if op.tag == "winograd_bgemm")
    for op in reductions:
        if not op.same_as(sums):
            bind_elements(s, op.output(0))
    bind_elements(s, outs[0])
    return schedule_tiles(cfg, outs, _TILES, contraction=sums.output(0), schedule=s)


def _register(name: str, layout: str) -> None:
    def compute(
        cfg: Any, data: Any, kernel: Any, strides: Any, padding: Any, dilation: Any, out_dtype: Any = "float32"
    ) -> Any:
        return _winograd(cfg, data, kernel, strides, padding, dilation, out_dtype, layout)

    register_topi_compute(name, compute)
    register_topi_schedule(name, _schedule)


_register("conv2d_nchw_winograd.cuda", "NCHW")
_register("conv2d_nhwc_winograd_direct.cuda", "NHWC")
