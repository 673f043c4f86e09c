"""CombineParallel*: operators of one tensor become one."""

import numpy as np
import pytest
from pass_checks import check, module
from tessera import relay
from tessera.relay.transform import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
    CombineProducts,
)


def var(name, *shape):
    return relay.var(name, shape=shape)


def conv(x, w, channels, **more):
    return relay.nn.conv2d(x, w, channels=channels, kernel_size=(1, 1), **more)


def part(data, axis, begin, size):
    return relay.strided_slice(
        data, [0] * axis + [begin], [-1] * axis + [size], strides=[1] * (axis + 1), slice_mode="size"
    )


def test_convolutions_of_one_tensor_with_what_follows_them():
    x = var("x", 1, 4, 6, 6)
    sizes = [4, 6, 8]
    ws = [var(f"w{i}", n, 4, 1, 1) for i, n in enumerate(sizes)]
    bs = [var(f"b{i}", n, 1, 1) for i, n in enumerate(sizes)]
    before = relay.Tuple([relay.nn.relu(conv(x, w, n) + b) for w, b, n in zip(ws, bs, sizes)])
    after = relay.nn.relu(conv(x, relay.concatenate(ws, 0), 18) + relay.concatenate(bs, 0))
    params = [x, *(v for pair in zip(ws, bs) for v in pair)]
    check(
        CombineParallelConv2D(3),
        relay.Function(params, before),
        relay.Function(params, relay.Tuple([part(after, 1, 0, 4), part(after, 1, 4, 6), part(after, 1, 10, 8)])),
    )


def test_too_few_branches_stay():
    x = var("x", 1, 4, 6, 6)
    check(CombineParallelConv2D(3), relay.Tuple([conv(x, var(f"w{i}", 2, 4, 1, 1), 2) for i in range(2)]))


def test_convolutions_that_differ_stay_apart():
    x = var("x", 1, 4, 6, 6)
    ws = [var(f"w{i}", 2, 4, 1, 1) for i in range(2)]
    check(CombineParallelConv2D(2), relay.Tuple([conv(x, ws[0], 2), conv(x, ws[1], 2, strides=(2, 2))]))


def test_a_bias_for_all_channels_ends_the_common_part():
    x, b = var("x", 1, 4, 6, 6), var("b", 1, 1, 1)
    ws = [var(f"w{i}", 2, 4, 1, 1) for i in range(2)]
    all_of = conv(x, relay.concatenate(ws, 0), 4)
    params = [x, *ws, b]
    check(
        CombineParallelConv2D(2),
        relay.Function(params, relay.Tuple([conv(x, w, 2) + b for w in ws])),
        relay.Function(params, relay.Tuple([part(all_of, 1, 0, 2) + b, part(all_of, 1, 2, 2) + b])),
    )


def test_a_branch_that_needs_another_is_no_circle():
    x = var("x", 1, 4, 6, 6)
    ws = [var(f"w{i}", 4, 4, 1, 1) for i in range(2)]
    first = conv(x, ws[0], 4)
    second = conv(x, ws[1], 4) + relay.nn.relu(first)
    mod = CombineParallelConv2D(2)(module(relay.Tuple([first + x, second])))
    assert str(mod).count("nn.conv2d") == 1
    check(CombineParallelConv2D(2), relay.Tuple([first + x, second]), mod["main"])


def test_dense_layers_become_a_batch():
    x = var("x", 2, 8)
    ws, bs = [var(f"w{i}", 5, 8) for i in range(3)], [var(f"b{i}", 5) for i in range(3)]
    params = [x, *(v for pair in zip(ws, bs) for v in pair)]
    before = relay.Tuple([relay.nn.dense(x, w) + b for w, b in zip(ws, bs)])
    batch = relay.nn.batch_matmul(relay.stack([x] * 3, 0), relay.stack(ws, 0))
    batch = batch + relay.stack([relay.expand_dims(b, 0) for b in bs], 0)
    parts = relay.split(batch, 3, 0)
    after = relay.Tuple([relay.squeeze(parts[i], [0]) for i in range(3)])
    check(CombineParallelDense(3), relay.Function(params, before), relay.Function(params, after))


def test_dense_layers_of_other_sizes_become_a_wider_one():
    x = var("x", 2, 8)
    sizes = [5, 3, 2]
    ws, bs = ([var(f"w{i}", n, 8) for i, n in enumerate(sizes)], [var(f"b{i}", n) for i, n in enumerate(sizes)])
    params = [x, *(v for pair in zip(ws, bs) for v in pair)]
    before = relay.Tuple([relay.nn.dense(x, w) + b for w, b in zip(ws, bs)])
    wide = relay.nn.dense(x, relay.concatenate(ws, 0), units=10) + relay.concatenate(bs, 0)
    after = relay.Tuple([part(wide, 1, 0, 5), part(wide, 1, 5, 3), part(wide, 1, 8, 2)])
    check(CombineParallelDense(3, to_batch=False), relay.Function(params, before), relay.Function(params, after))


def test_batched_matmuls_are_combined():
    x = var("x", 2, 3, 8)
    ws = [var(f"w{i}", 2, n, 8) for i, n in enumerate([5, 4])]
    wide = relay.nn.batch_matmul(x, relay.concatenate(ws, 1))
    check(
        CombineParallelBatchMatmul(2),
        relay.Tuple([relay.nn.batch_matmul(x, w) for w in ws]),
        relay.Tuple([part(wide, 2, 0, 5), part(wide, 2, 5, 4)]),
    )


@pytest.mark.parametrize("levels", [1, 3])
def test_groups_behind_groups_are_combined_too(levels):
    x = var("x", 1, 4, 6, 6)
    at = [x]
    random = np.random.RandomState(0)
    for _ in range(levels):
        ws = [relay.const(random.uniform(-1, 1, (4, 4, 1, 1)).astype("float32")) for _ in range(2)]
        at = [relay.nn.relu(conv(e, w, 4)) for e in at[:1] for w in ws]
    before = relay.Tuple(at)
    mod = CombineParallelConv2D(2)(module(before))
    assert str(mod).count("nn.conv2d") == levels
    check(CombineParallelConv2D(2), before, mod["main"])


def heads(x):
    return relay.transpose(relay.reshape(x, (2, 3, 2, -1)), (0, 2, 1, 3))


def constants(*shapes):
    random = np.random.RandomState(0)
    return [relay.const(random.uniform(-1, 1, shape).astype("float32")) for shape in shapes]


def test_projections_of_attention_become_one_product():
    x = var("x", 2, 3, 8)
    ws, bs = constants(*[(8, 4)] * 3), constants(*[(4,)] * 3)
    before = relay.Tuple([heads(b + relay.nn.matmul(x, w)) for w, b in zip(ws, bs)])
    wide = relay.concatenate(bs, 0) + relay.nn.matmul(x, relay.concatenate(ws, 1))
    after = relay.Tuple([heads(part(wide, 2, 4 * i, 4)) for i in range(3)])
    check(CombineProducts(), before, after)


def test_dense_projections_of_other_sizes_become_one_too():
    x = var("x", 6, 8)
    ws = constants((4, 8), (6, 8))
    wide = relay.nn.dense(x, relay.concatenate(ws, 0), units=10)
    before = relay.Tuple([heads(relay.nn.dense(x, w)) for w in ws])
    check(CombineProducts(), before, relay.Tuple([heads(part(wide, 1, 0, 4)), heads(part(wide, 1, 4, 6))]))


@pytest.mark.parametrize("follows", [lambda y: y, relay.nn.softmax, lambda y: relay.reshape(y, (-1,))])
def test_matmuls_whose_parts_would_be_copied_stay_apart(follows):
    x = var("x", 6, 8)
    ws = constants((8, 4), (8, 4))
    check(CombineProducts(), relay.Tuple([follows(relay.nn.matmul(x, w)) for w in ws]))


def test_weights_that_are_inputs_stay_apart():
    x = var("x", 6, 8)
    ws = [var("w0", 8, 4), var("w1", 8, 4)]
    check(CombineProducts(), relay.Tuple([heads(relay.nn.matmul(x, w)) for w in ws]))
