"""FuseAttention: two matmuls with a softmax between them are one kernel, whatever lies around them."""

import re

import numpy as np
import pytest
import tessera
from kernel_checks import rules, run
from tessera import relay


def heads(x, batch, length, count, depth, axes=(0, 2, 1, 3)):
    parts = relay.transpose(relay.reshape(x, (batch, length, count, depth)), axes)
    shape = (batch * count, length, depth) if axes == (0, 2, 1, 3) else (batch * count, depth, length)
    return relay.reshape(parts, shape)


def attention(batch=1, count=2, rows=40, columns=40, depth=16, width=16, mask=None, merge=True, by_rows=False):
    """The program as exporters write it, random inputs, and the answer in float64."""
    query = relay.var("query", shape=(batch, rows, count * depth))
    key = relay.var("key", shape=(batch, columns, count * depth))
    value = relay.var("value", shape=(batch, columns, count * width))
    q = heads(query, batch, rows, count, depth)
    k = heads(key, batch, columns, count, depth, (0, 2, 1, 3) if by_rows else (0, 2, 3, 1))
    scores = relay.nn.batch_matmul(q, k, transpose_b=by_rows)
    scores = relay.reshape(scores, (batch, count, rows, columns)) * relay.const(np.float32(depth**-0.5))
    params = [query, key, value]
    if mask is not None:
        params.append(relay.var("mask", shape=mask))
        scores = scores + params[-1]
    weights = relay.reshape(relay.nn.softmax(scores), (batch * count, rows, columns))
    out = relay.nn.batch_matmul(weights, heads(value, batch, columns, count, width), transpose_b=False)
    if merge:
        out = relay.transpose(relay.reshape(out, (batch, count, rows, width)), (0, 2, 1, 3))
        out = relay.reshape(out, (batch, rows, count * width))
    rng = np.random.default_rng(7)
    inputs = [rng.standard_normal([int(n) for n in param.type_annotation.shape]).astype("float32") for param in params]

    def split(x, depth):
        return x.astype("float64").reshape(batch, -1, count, depth).transpose(0, 2, 1, 3)

    s = split(inputs[0], depth) @ split(inputs[1], depth).transpose(0, 1, 3, 2) * depth**-0.5
    if mask is not None:
        s = s + inputs[3]
    e = np.exp(s - s.max(-1, keepdims=True))
    answer = e / e.sum(-1, keepdims=True) @ split(inputs[2], width)
    if merge:
        answer = answer.transpose(0, 2, 1, 3).reshape(batch, rows, count * width)
    else:
        answer = answer.reshape(batch * count, rows, width)
    return relay.Function(params, out), inputs, answer


CASES = {
    "even": {},
    "rows_that_fill_no_tile": {"rows": 37, "columns": 53, "depth": 24, "width": 40},
    "several_samples": {"batch": 3, "count": 2, "rows": 33, "columns": 45},
    "short_rows": {"rows": 96, "columns": 9, "depth": 32, "width": 32},
    "narrow_values": {"width": 24},
    "a_mask_for_columns": {"mask": (1, 1, 1, 40)},
    "a_mask_for_each": {"rows": 35, "columns": 45, "mask": (1, 2, 35, 45)},
    "keys_by_rows": {"by_rows": True},
    "heads_left_apart": {"merge": False},
    "one_query": {"count": 8, "rows": 1, "columns": 129, "depth": 128, "width": 128},
}


@pytest.mark.parametrize("case", CASES)
def test_attention_is_one_kernel_and_right(case):
    function, inputs, answer = attention(**CASES[case])
    assert rules(function).count("attention") == 1
    np.testing.assert_allclose(run(function, inputs), answer, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("cpu", ["haswell", "x86-64"])
def test_attention_is_right_on_lesser_cpus(cpu):
    function, inputs, answer = attention(rows=37, columns=53)
    np.testing.assert_allclose(run(function, inputs, f"llvm -mcpu={cpu}"), answer, rtol=2e-5, atol=2e-6)


def test_the_number_of_tasks_does_not_change_a_bit():
    function, inputs, _ = attention(rows=150, columns=150, count=2)
    one = run(function, inputs, "llvm -num-cores=1")
    for cores in (2, 16):
        assert np.array_equal(run(function, inputs, f"llvm -num-cores={cores}"), one)


def test_a_single_head_is_computed_block_by_block():
    function, inputs, answer = attention(count=1, rows=4096, columns=64, depth=32, width=32)
    np.testing.assert_allclose(run(function, inputs), answer, rtol=2e-5, atol=2e-6)
    with tessera.transform.PassContext(opt_level=3):
        source = relay.build(tessera.IRModule.from_expr(function), "llvm").get_lib().get_source()
    sizes = [int(size) for size in re.findall(r"ptr %\d+\(i32 1, i32 %dev_id, i64 (\d+), i32 2", source)]
    assert sizes and sum(sizes) < 4096 * 64 * 4  # not the scores of all rows


def test_scores_that_are_asked_for_are_kept():
    function, _, _ = attention(merge=False)
    product = function.body
    scores = product.args[0]
    both = relay.Function(function.params, relay.Tuple([product, scores]))
    assert "attention" not in rules(both)


def test_a_row_of_minus_infinity_gives_nan_as_it_does_apart():
    function, inputs, _ = attention(mask=(1, 1, 40, 40))
    inputs[3][..., 3, :] = -np.inf
    inputs[3][..., 4, 1:] = -np.inf
    whole = run(function, inputs)
    apart = run(function, inputs, disabled_pass=["FuseAttention"])
    assert np.isnan(whole[0, 3]).all() and not np.isnan(np.delete(whole, 3, axis=1)).any()
    np.testing.assert_allclose(whole, apart, rtol=2e-5, atol=2e-6)


def test_three_slices_of_one_projection_are_read_in_place():
    count, length, depth = 2, 48, 16
    x = relay.var("x", shape=(1, length, 3 * count * depth))
    parts = relay.split(x, 3, axis=2)
    q, k, v = (heads(parts[i], 1, length, count, depth, (0, 2, 3, 1) if i == 1 else (0, 2, 1, 3)) for i in range(3))
    weights = relay.nn.softmax(relay.nn.batch_matmul(q, k, transpose_b=False))
    function = relay.Function([x], relay.nn.batch_matmul(weights, v, transpose_b=False))
    assert rules(function) == ["attention"]
    value = np.random.default_rng(1).standard_normal((1, length, 3 * count * depth)).astype("float32")
    q, k, v = (part.reshape(length, count, depth).transpose(1, 0, 2) for part in np.split(value[0], 3, axis=1))
    e = np.exp(q.astype("float64") @ k.transpose(0, 2, 1))
    answer = e / e.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(run(function, [value]), answer, rtol=2e-5, atol=1e-5)
