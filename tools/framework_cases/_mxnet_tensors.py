"""Shapes, indices and buffers of MXNet; see `framework_cases`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import Case, Pairs
from ._mxnet_symbol import Value, case, floats, renamed, tensor


def _shapes() -> Iterator[Case]:
    x, y = tensor(2, 3, 4), tensor(2, 3, 4, seed=3)
    image = tensor(2, 4, 6, 8)
    for name in ("Reshape", "reshape"):
        for shape in ((0, -1), (-2,), (-3, 0), (0, -4, 1, 3, 0), (4, -1)):
            yield case(name, x, shape=shape)
    yield case("Reshape", image, shape=(-1, 0, 0), reverse=True)
    yield case("_npx_reshape", x, newshape=(-2, -5))
    yield case("_npx_reshape", image, newshape=(-2, -6, 2, 2, -4))
    yield case("reshape_like", x, tensor(4, 6))
    yield case("reshape_like", x, tensor(6, 5), lhs_begin=0, lhs_end=2, rhs_begin=0, rhs_end=1)
    for name in ("transpose", "_np_transpose"):
        yield case(name, x)
        yield case(name, x, axes=(1, 0, 2))
    yield renamed("_npi_transpose", "transpose", x, axes=(1, 0, 2))
    yield case("SwapAxis", x, dim1=0, dim2=2)
    yield case("expand_dims", x, axis=1)
    yield case("squeeze", tensor(2, 1, 3, 1))
    yield case("squeeze", tensor(2, 1, 3, 1), axis=1)
    for name in ("Concat", "concat"):
        yield case(name, x, y, dim=2)
    yield case("stack", x, y, axis=1)
    yield case("_npi_stack", x, y, axis=1, num_args=2)
    yield case("_npi_concatenate", x, y, axis=1, num_args=2)
    yield case("_rnn_param_concat", tensor(5), tensor(7), num_args=2, dim=0)
    for name in ("SliceChannel", "split"):
        yield case(name, x, num_outputs=3, axis=1, squeeze_axis=True)
        yield case(name, x, num_outputs=2, axis=2)
    yield case("_split_v2", x, indices=(0, 1, 3), axis=2)
    yield case("_split_v2", x, indices=(0,), sections=2, axis=2)
    yield case("slice", x, begin=(0, None, 3), end=(2, -1, 0), step=(1, 1, -1))
    yield case("slice_axis", x, axis=2, begin=1, end=None)
    yield case("slice_axis", x, axis=1, begin=-2, end=-1)
    yield case("slice_like", x, tensor(1, 2, 3))
    yield case("slice_like", x, tensor(1, 2, 9), axes=(0, 1))
    yield case("Crop", image, offset=(1, 2), h_w=(3, 4), num_args=1)
    yield case("Crop", image, tensor(2, 4, 3, 3), num_args=2, center_crop=True)
    yield case("repeat", x, repeats=2, axis=1)
    yield case("repeat", x, repeats=2)
    yield case("tile", x, reps=(2, 1, 3))
    yield case("broadcast_to", tensor(2, 1, 4), shape=(0, 5, 4))
    for name in ("broadcast_axis", "broadcast_axes"):
        yield case(name, tensor(2, 1, 1), axis=(1, 2), size=(3, 4))
    yield case("broadcast_like", tensor(2, 1, 4), x)
    yield case("broadcast_like", tensor(2, 1, 1), x, lhs_axes=(1,), rhs_axes=(2,))
    for name in ("pad", "Pad"):
        yield case(name, image, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 3, 0), constant_value=1.5)
        yield case(name, image, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 3, 0))
        yield case(name, image, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 3, 0))
    yield case("_npi_pad", x, pad_width=((0, 1), (2, 0), (1, 1)), mode="constant", constant_value=2)
    yield case("reverse", x, axis=(1,))
    yield case("_zeros", shape=(2, 3), dtype="float32")
    yield case("_ones", shape=(2, 3), dtype="int32")
    yield case("_full", shape=(2, 3), dtype="float32", value=1.5)
    yield case("_arange", start=1, stop=7.5, step=1.5, repeat=2)
    yield case("_contrib_arange_like", x, start=2, step=0.5)
    yield case("_contrib_arange_like", x, axis=1)
    yield case("shape_array", x)
    yield case("depth_to_space", image, block_size=2)
    yield case("space_to_depth", image, block_size=2)
    yield case("take", x, floats([[0, 2], [5, -1]]), axis=1)
    yield case("take", x, floats([[0, 2], [5, -1]]), axis=1, mode="wrap")
    yield case("gather_nd", x, floats([[0, 1], [2, 0]]))
    yield case("Embedding", floats([[1, 2], [4, 0]]), tensor(5, 3), input_dim=5, output_dim=3)
    yield case("one_hot", floats([1, 0, 2]), depth=4, on_value=2, off_value=-1)
    yield case("argsort", x, axis=1)
    yield case("argsort", x, is_ascend=False, dtype="int32")
    for kind in ("indices", "value", "both", "mask"):
        yield case("topk", x, k=2, ret_typ=kind)
    yield case("topk", x, k=2, axis=1, is_ascend=True)
    yield case("_unravel_index", floats([3, 7, 11]), shape=(3, 4))
    lengths = floats([1, 3, 2])
    yield case("SequenceMask", tensor(4, 3, 2), lengths, use_sequence_length=True, value=-1)
    yield case("SequenceReverse", tensor(4, 3, 2), lengths, use_sequence_length=True)
    yield case("SequenceReverse", tensor(4, 3, 2))
    yield case("_npi_where_rscalar", floats([[1, 0, 1]]), tensor(2, 3), scalar=3.0)
    for name in ("_npi_less", "_npi_less_equal"):
        yield case(name, np.round(x * 2), np.round(y * 2))


def _buffers() -> Iterator[Case]:
    """What comes last stays: a buffer moves on by as much as the data has."""
    data, held = tensor(2, 3, 4), tensor(2, 5, 4, seed=3)

    def run(operator: str, data: Value, held: Value, *limits: Value) -> Pairs:
        from tessera import relay

        inputs = {f"x{i}": value for i, value in enumerate((data, held, *limits))}
        nodes: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in inputs]
        arguments = [[i, 0, 0] for i in range(len(inputs))]
        nodes.append({"op": operator, "name": "buffer", "inputs": arguments, "attrs": {"axis": "1"}})
        heads = [[len(inputs), i, 0] for i in range(1 + len(limits))]
        symbol = json.dumps({"nodes": nodes, "arg_nodes": list(range(len(inputs))), "heads": heads})
        types = {name: str(value.dtype) for name, value in inputs.items()}
        mod, _ = relay.frontend.from_mxnet(symbol, {name: value.shape for name, value in inputs.items()}, types)
        out = relay.create_executor("graph", mod).evaluate()(**inputs)
        got = [one.numpy() for one in out] if limits else [out.numpy()]
        return zip(got, [np.concatenate([held, data], 1)[:, data.shape[1] :], *limits], strict=True)

    yield Case("ring_buffer", "ring_buffer", lambda: run("ring_buffer", data, held))
    integers = [np.round(100 * one).astype("int8") for one in (data, held)]
    limits = [floats([-1]), floats([1])]
    name = "_contrib_quantized_ring_buffer"
    yield Case(name, name, lambda: run(name, *integers, *limits))


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _shapes()
    yield from _buffers()
