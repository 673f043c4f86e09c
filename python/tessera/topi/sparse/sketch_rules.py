"""Sketches of the auto-scheduler for sparse operators, whose reductions have as many steps as a row has entries.

The general rules split every loop of a contraction, and the loop over the entries of a row as well. These rules leave it whole and
split only what a row is multiplied with.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "sparse_conv2d_apply_func",
    "sparse_conv2d_meet_condition_func",
    "sparse_dense_apply_func",
    "sparse_dense_meet_condition_func",
    "sparse_sketch_rules",
]

_DENSE = ("sparse_dense_sp_rhs_bsrmm", "sparse_dense_sp_lhs_bsrmm")
_CONV2D = ("conv2d_sparse_nhwc", "conv2d_sparse_nchw")


def _state(search_policy: Any, state: Any) -> Any:
    from ...auto_scheduler.loop_state import State

    return State(state, search_policy.search_task.compute_dag)


def _condition(state: Any, stage_id: int, tags: tuple[str, ...]) -> int:
    from ...auto_scheduler.search_policy import PreloadCustomSketchRule

    is_met = state.stages[stage_id].op.tag in tags
    return PreloadCustomSketchRule.APPLY_AND_SKIP_REST if is_met else PreloadCustomSketchRule.PASS


def sparse_dense_meet_condition_func(search_policy: Any, state: Any, stage_id: int) -> int:
    """True of both stages of a linear layer whose one operand has blocks."""
    return _condition(state, stage_id, (*_DENSE, *(f"{tag}_block" for tag in _DENSE)))


def sparse_dense_apply_func(search_policy: Any, state: Any, stage_id: int) -> list[list[Any]]:
    """Tiles of the result, each from blocks that are computed inside it:

    for m.0, n.0: for i, j: for entry, c: for k: block[i, j, k] += ...;  for m.1, n.1, n.2: out = block
    """
    own = _state(search_policy, state)
    stage = own.stage_ops[stage_id]
    if stage.tag.endswith("_block"):
        return [[own.state_object, stage_id - 1]]  # done with the stage that reads it
    is_left = "_lhs_" in stage.tag
    block = next(tensor.op for tensor in stage.input_tensors)
    height = int(block.output(0).shape[1 if is_left else 2])
    rows, lines = own[stage].iters if is_left else reversed(list(own[stage].iters))
    row_blocks, inner = own.split(stage, rows, [height])
    outer_rows, inner_rows = own.split(stage, row_blocks, [None])
    outer_lines, inner_lines = own.split(stage, lines, [None])
    if is_left:
        own.reorder(stage, [outer_rows, outer_lines, inner_rows, inner, inner_lines])
        last = outer_lines
    else:
        own.reorder(stage, [outer_lines, outer_rows, inner_lines, inner_rows, inner])
        last = outer_rows
    own.compute_at(block, stage, last)
    # (row, inner, line) or (line, row, inner), then the entries and the width of a block: what is contiguous goes innermost
    first, second, third, entry, width = own[block].iters
    own.reorder(block, [first, second, entry, width, third] if not is_left else [first, entry, width, second, third])
    return [[own.state_object, stage_id - 1]]


def sparse_conv2d_meet_condition_func(search_policy: Any, state: Any, stage_id: int) -> int:
    """True of a convolution with a sparse weight."""
    return _condition(state, stage_id, _CONV2D)


def sparse_conv2d_apply_func(search_policy: Any, state: Any, stage_id: int) -> list[list[Any]]:
    """An entry of the weight is read once for a tile of pixels:

    for n, y.0, x.0, channel: for entry, c: for y.1, x.1: out[n, y, x, channel] += ...
    """
    own = _state(search_policy, state)
    stage = own.stage_ops[stage_id]
    iters = list(own[stage].iters)
    spatial, reduction = iters[:4], iters[4:]
    batch, channel = spatial[0], spatial[3 if stage.tag.endswith("nhwc") else 1]
    rows, columns = spatial[1:3] if stage.tag.endswith("nhwc") else spatial[2:4]
    outer_rows, inner_rows = own.split(stage, rows, [None])
    outer_columns, inner_columns = own.split(stage, columns, [None])
    own.reorder(stage, [batch, outer_rows, outer_columns, channel, *reduction, inner_rows, inner_columns])
    return [[own.state_object, stage_id - 1]]


def sparse_sketch_rules() -> list[Any]:
    """The rules as callbacks of a SketchPolicy: `init_search_callbacks=sparse_sketch_rules()`."""
    from ...auto_scheduler.search_policy import PreloadCustomSketchRule

    return [
        PreloadCustomSketchRule(sparse_dense_meet_condition_func, sparse_dense_apply_func, "SparseDense"),
        PreloadCustomSketchRule(sparse_conv2d_meet_condition_func, sparse_conv2d_apply_func, "SparseConv2D"),
    ]
