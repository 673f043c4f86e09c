"""How templates for GPUs run a contraction: its results are split into blocks, virtual threads, threads and what a thread computes; sums are
in registers, and what they read is brought to shared memory a part of the reduction at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import te
from ...target import Target
from .contractions import as_outs, contraction_of, inline_copies, stages_before

__all__ = ["Tiles", "bind_elements", "schedule_tiles", "unroll_knobs"]

_DIMENSIONS = "xyz"
_ELEMENT_THREADS = 256
# Knobs are defined in this order, whatever the layout.
_ORDER = [f"tile_{axis}" for axis in ["n", "g", "f", "d", "y", "x", "m", "b", "rc", "rd", "ry", "rx", "k"]]
_BUFFERS = ("AA_double_buffer", "WW_double_buffer")


class Tiles(NamedTuple):
    """The knobs of a template, in v0.10's names and order.

    `spatial` has a word for each axis of the result: a knob that splits it into four, or "-" where the axis is split by no knob and each
    of its positions is another block, or "+" where one thread has all of it. "outer/inner" are two knobs, for groups of channels and the
    channels of a group. `reduce` has a word for each axis of the reduction: a knob that splits it, or "-" for one that a thread runs over at once. `define` stands for
    templates whose knobs are others: it defines them and gives the split that each word means.
    """

    spatial: str
    reduce: str
    unroll: tuple[int, ...] = (0, 512, 1500)
    reduce_parts: int = 2
    define: Callable[[Any, Any], dict[str, Any]] | None = None
    dot: Callable[[], Any] | None = None  # an instruction that reduces the last axis at once
    buffers: bool = False  # knobs for loading the next part while one is in work


def unroll_knobs(cfg: Any, steps: tuple[int, ...]) -> None:
    """How far loops are unrolled, and by whom: the code generator, or nvcc."""
    cfg.define_knob("auto_unroll_max_step", list(steps))
    target = Target.current(allow_none=True)
    has_no_compiler = target is not None and str(target.kind.name) in ("nvptx", "rocm")
    cfg.define_knob("unroll_explicit", [1] if has_no_compiler else [0, 1])


def _fuse(stage: Any, loops: list[Any]) -> Any:
    out = loops[0]
    for loop in loops[1:]:
        out = stage.fuse(out, loop)
    return out


def _at_most_three(stage: Any, loops: list[Any]) -> list[Any]:
    """The loops, those in front fused so that there is a dimension for each."""
    extra = len(loops) - 3
    return loops if extra <= 0 else [_fuse(stage, loops[: extra + 1]), *loops[extra + 1 :]]


def bind_elements(schedule: Any, tensor: Any) -> None:
    """Each element by a thread."""
    stage = schedule[tensor]
    fused = _fuse(stage, list(stage.op.axis))
    block, thread = stage.split(fused, _ELEMENT_THREADS)
    stage.bind(block, te.thread_axis("blockIdx.x"))
    stage.bind(thread, te.thread_axis("threadIdx.x"))


def _defined(cfg: Any, tiles: Tiles, sums: Any, groups: int) -> dict[str, Any]:
    """Defines the knobs; what each word splits its axis into."""
    if tiles.define is not None:
        return tiles.define(cfg, sums)
    sizes: dict[str, tuple[int, int]] = {}
    for word, axis in zip(tiles.spatial.split(), sums.op.axis):
        extent = int(axis.dom.extent)
        if "/" in word:
            outer, inner = word.split("/")
            sizes |= {outer: (groups, 2), inner: (extent // groups, 4)}
        elif word not in "-+":
            sizes[word] = extent, 4
    for word, axis in zip(tiles.reduce.split(), sums.op.reduce_axis):
        if word != "-":
            sizes[word] = int(axis.dom.extent), tiles.reduce_parts
    words = sorted(sizes, key=lambda word: _ORDER.index(word) if word in _ORDER else 0)
    for word in words:
        cfg.define_split(word, sizes[word][0], num_outputs=sizes[word][1])
    unroll_knobs(cfg, tiles.unroll)
    if tiles.buffers:
        for name in _BUFFERS:
            cfg.define_knob(name, [0, 1])
    if cfg.is_fallback:
        spatial = [word for word in words if sizes[word][1] == 4]
        threads = dict(zip(reversed(spatial), (16, 8)))
        for word in words:
            parts = sizes[word][1]
            cfg.fallback_split(word, [-1, 1, threads.get(word, 1), 2] if parts == 4 else [-1] + [4] * (parts - 1))
    return {word: cfg[word] for word in words}


class _Threads(NamedTuple):
    """How many there are of each dimension, x first."""

    sizes: list[int]

    def share(self, stage: Any) -> None:
        """Elements of a stage among all of them, side by side."""
        loop = _fuse(stage, list(stage.op.axis))
        for dimension, size in enumerate(self.sizes):
            loop, part = stage.split(loop, size)
            stage.bind(part, te.thread_axis((0, size), f"threadIdx.{_DIMENSIONS[dimension]}"))


def _bind_results(
    schedule: Any, splits: dict[str, Any], tiles: Tiles, out: Any, groups: int
) -> tuple[Any, Any, _Threads]:
    """Binds the loops of the output: the outermost one, the last of a thread, and the threads."""
    stage = schedule[out]
    blocks: list[Any] = []
    virtual: list[Any] = []
    threads: list[Any] = []
    inner: list[Any] = []
    counts: list[int] = []
    for word, axis in zip(tiles.spatial.split(), list(stage.op.axis)):
        if word == "-":
            blocks.append(axis)
            continue
        if word == "+":
            inner.append(axis)
            continue
        if "/" in word:
            outer, word = word.split("/")
            group, axis = stage.split(axis, nparts=groups)
            block, part = splits[outer].apply(schedule, out, group)
            blocks.append(block)
            inner.append(part)
        parts = splits[word].apply(schedule, out, axis)
        for loops, loop in zip((blocks, virtual, threads, inner), parts):
            loops.append(loop)
        counts.append(int(splits[word].size[2]))
    stage.reorder(*blocks, *virtual, *threads, *inner)
    for number, loop in enumerate(reversed(_at_most_three(stage, blocks))):
        stage.bind(loop, te.thread_axis(f"blockIdx.{_DIMENSIONS[number]}"))
    for loop in virtual:
        stage.bind(loop, te.thread_axis("vthread"))
    bound = _at_most_three(stage, threads)
    extra = len(counts) - len(bound)
    sizes = [math.prod(counts[: extra + 1]), *counts[extra + 1 :]][::-1]
    for number, loop in enumerate(reversed(bound)):
        stage.bind(loop, te.thread_axis((0, sizes[number]), f"threadIdx.{_DIMENSIONS[number]}"))
    return inner[0], bound[-1], _Threads(sizes)


def _reduce_loops(
    schedule: Any, splits: dict[str, Any], tiles: Tiles, sums: Any
) -> tuple[list[Any], list[Any], list[Any]]:
    """Loops over parts that are loaded at once, loops inside of a part, and what an instruction takes."""
    outer: list[Any] = []
    inner: list[Any] = []
    stage = schedule[sums]
    reduce = list(stage.op.reduce_axis)
    taken = [reduce.pop()] if tiles.dot else []
    for word, axis in zip(tiles.reduce.split(), reduce):
        if word == "-":
            inner.append(axis)
            continue
        first, *rest = splits[word].apply(schedule, sums, axis)
        outer.append(first)
        inner += rest
    return outer, inner, taken


def schedule_tiles(
    cfg: Any, outs: Any, tiles: Tiles, groups: int = 1, contraction: Any = None, schedule: Any = None
) -> Any:
    """A schedule by a configuration, whose knobs are defined first. `contraction` is the stage that it is about, found where it is not
    given, and `schedule` one that other stages have been scheduled in already."""
    outs = as_outs(outs)
    conv = contraction if contraction is not None else contraction_of(outs)
    s = schedule if schedule is not None else te.create_schedule([out.op for out in outs])
    splits = _defined(cfg, tiles, conv, groups)
    out = outs[0] if contraction is None else contraction
    if schedule is None:
        inline_copies(s, outs)
        for op in stages_before(outs):
            if op.reduce_axis and not op.same_as(conv.op):
                bind_elements(s, op.output(0))
    if conv.op.same_as(out.op):
        sums = s.cache_write(conv, "local")
    else:
        s[conv].set_scope("local")
        sums = conv
    shared = [s.cache_read(tensor, "shared", [sums]) for tensor in s[sums].op.input_tensors]
    _, thread, threads = _bind_results(s, splits, tiles, out, groups)
    s[sums].compute_at(s[out], thread)
    outer, inner, taken = _reduce_loops(s, splits, tiles, sums)
    s[sums].reorder(*outer, *inner, *s[sums].op.axis, *taken)
    if tiles.dot is not None:
        s[sums].tensorize(taken[0], tiles.dot())
    for number, each in enumerate(shared):
        if outer:
            s[each].compute_at(s[sums], outer[-1])
        else:
            s[each].compute_at(s[out], thread)
        threads.share(s[each])
        if tiles.buffers and cfg[_BUFFERS[min(number, 1)]].val:
            s[each].double_buffer()
    if outer and "auto_unroll_max_step" in cfg:
        s[sums].pragma(outer[0], "auto_unroll_max_step", cfg["auto_unroll_max_step"].val)
        s[sums].pragma(outer[0], "unroll_explicit", bool(cfg["unroll_explicit"].val))
    return s
