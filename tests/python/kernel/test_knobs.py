"""Plans are data: their knobs can be read on the kernel and moved, and the answer stays right for every value."""

import re

import numpy as np
import pytest
import tessera as tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from tessera import relay
from tessera.contrib import graph_executor

failures = tvm.get_global_func("kernel.rule_failures")


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def compiled(body, knobs):
    with tvm.transform.PassContext(opt_level=3, config={"kernel.knobs": knobs}):
        return relay.build(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)), "llvm")


def plans(lib, rule):
    """The knobs of that rule's plans, by name."""
    texts = [
        str(text)
        for info in lib.function_metadata.values()
        for program in info.tir_primfuncs.values()
        for text in dict(program.attrs.items()).get("tessera.schedule_plans", [])
    ]
    found = [text[len(rule) + 1 : -1] for text in texts if text.startswith(rule + "(")]
    return [{name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", text)} for text in found]


def result(lib, **inputs):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input(**inputs)
    module.run()
    return module.get_output(0).numpy()


A, B = random(37, 65), random(65, 83)
PACKED, PLAIN = "packed weight", "two inputs"


def matmul(kind):
    b = relay.const(B) if kind == PACKED else relay.var("b", shape=B.shape)
    return relay.nn.relu(relay.nn.matmul(relay.var("a", shape=A.shape), b))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.sampled_from([PACKED, PLAIN]),
    st.fixed_dictionaries(
        {},
        optional={
            "rows": st.integers(1, 5),
            "step": st.integers(1, 65),
            "block_rows": st.integers(1, 4),
            "parts_m": st.integers(1, 3),
            "packs_a": st.integers(0, 1),
            "prefetch_b": st.integers(0, 1),
            "prefetch_result": st.integers(0, 1),
            "is_parallel": st.integers(0, 1),
        },
    ),
)
def test_any_plan_of_a_matmul_is_right(kind, knobs):
    if kind == PLAIN:
        knobs = {**knobs, "packs_b": knobs.get("prefetch_b", 0)}  # what is prefetched is packed
    before = failures()
    lib = compiled(matmul(kind), {"matmul": knobs})
    assert failures() == before
    (plan,) = plans(lib, "matmul")
    assert knobs.items() <= plan.items()
    inputs = {"a": A} if kind == PACKED else {"a": A, "b": B}
    np.testing.assert_allclose(result(lib, **inputs), np.maximum(A.astype("float64") @ B, 0), atol=1e-4)


@pytest.mark.parametrize(
    "knobs",
    [
        {"columns": 1},
        {"columns": 3},
        {"columns": 2, "vectors": 1},
        {"rows": 2, "columns": 14},
        {"block_rows": 2},
        {"block_rows": 7, "copies_block": 1, "vectors": 1},
    ],
)
def test_any_tile_of_a_convolution_is_right(knobs):
    x, w = random(1, 32, 14, 14), random(32, 32, 1, 1)
    body = relay.nn.conv2d(relay.var("x", shape=x.shape), relay.const(w), channels=32, kernel_size=(1, 1))
    before = failures()
    lib = compiled(body, {"contraction": knobs})
    assert failures() == before
    assert any(knobs.items() <= plan.items() for plan in plans(lib, "contraction"))
    want = np.einsum("oi,nihw->nohw", w[:, :, 0, 0].astype("float64"), x)
    np.testing.assert_allclose(result(lib, x=x), want, atol=1e-4)


@pytest.mark.parametrize("size, kernel", [((512, 512), 3), ((512, 2048), 1)])
def test_tiles_that_read_weights_beyond_the_cache_divide_rows(size, kernel):
    """Rows of 7 pixels are whole tiles, not five and then two, each of which would read the weights."""
    (ins, outs), x = size, relay.var("x", shape=(1, size[0], 7, 7))
    weight = relay.const(np.zeros((outs, ins, kernel, kernel), "float32"))
    body = relay.nn.conv2d(x, weight, channels=outs, kernel_size=(kernel, kernel), padding=kernel // 2)
    with tvm.transform.PassContext(opt_level=3, config={"relay.conv2d.winograd": False}):
        lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], body)), "llvm -mcpu=skylake-avx512")
    (plan,) = plans(lib, "contraction")
    assert (plan["columns"], plan["vectors"]) == (7, 2)


def test_data_beyond_the_cache_is_read_by_blocks_of_rows():
    x, w = random(1, 512, 64, 64), random(128, 512, 1, 1)
    body = relay.nn.conv2d(relay.var("x", shape=x.shape), relay.const(w), channels=128, kernel_size=(1, 1))
    lib = compiled(body, {})
    (plan,) = plans(lib, "contraction")
    assert plan["block_rows"] > 0 or plan["vectors"] * 16 >= 128
    want = w[:, :, 0, 0].astype("float64") @ x.reshape(512, -1)
    np.testing.assert_allclose(result(lib, x=x).reshape(128, -1), want, atol=1e-2)


@pytest.mark.parametrize(
    "knobs",
    [
        {"rows": 1, "vectors": 1},
        {"rows": 3, "vectors": 2, "value_vectors": 1},
        {"block_rows": 1, "task_blocks": 1},
        {"block_rows": 2, "task_blocks": 3},
        {"block_rows": 50},
    ],
)
def test_any_plan_of_attention_is_right(knobs):
    query, key, value = random(2, 37, 24), random(2, 53, 24), random(2, 53, 40)
    q, k, v = (relay.var(name, shape=x.shape) for name, x in (("q", query), ("k", key), ("v", value)))
    weights = relay.nn.softmax(relay.nn.batch_matmul(q, k) * relay.const(np.float32(24**-0.5)))
    lib = compiled(relay.nn.batch_matmul(weights, v, transpose_b=False), {"attention": knobs})
    (plan,) = plans(lib, "attention")
    assert knobs.items() <= plan.items()
    powers = np.exp(query.astype("float64") @ key.transpose(0, 2, 1) * 24**-0.5)
    want = powers / powers.sum(-1, keepdims=True) @ value
    np.testing.assert_allclose(result(lib, q=query, k=key, v=value), want, atol=1e-5)


POOL = random(2, 6, 12, 37)


@pytest.mark.parametrize(
    "knobs",
    [
        {"lanes": 1, "column_lanes": 2},
        {"lanes": 8, "column_lanes": 16},
        {"lanes": 5, "rows": 1},
        {"rows": 12},
        {"rows": 4, "shares_rows": 1, "is_parallel": 1},
        {"rows": 3, "shares_rows": 0, "is_parallel": 1},
    ],
)
def test_any_plan_of_a_pool_is_right(knobs):
    body = relay.nn.relu(relay.nn.max_pool2d(relay.var("x", shape=POOL.shape), (3, 3), padding=(1, 1, 1, 1)))
    before = failures()
    lib = compiled(body, {"pool": knobs})
    assert failures() == before
    (plan,) = plans(lib, "pool")
    assert knobs.items() <= plan.items()
    edged = np.pad(POOL, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    shifted = [edged[:, :, i : i + 12, j : j + 37] for i in range(3) for j in range(3)]
    np.testing.assert_array_equal(result(lib, x=POOL), np.maximum(np.max(shifted, 0), 0))


@pytest.mark.parametrize(
    "knobs",
    [
        {"lanes": 1},
        {"lanes": 3, "rows": 1},
        {"lanes": 16, "rows": 6, "row_axis": 0},
        {"lanes": 8, "rows": 6, "row_axis": 1},
        {"rows": 2, "is_parallel": 1},
        {"rows": 1, "is_parallel": 0},
    ],
)
def test_any_tile_of_a_reduction_is_right(knobs):
    x = random(6, 40, 48)
    before = failures()
    lib = compiled(relay.exp(relay.sum(relay.var("x", shape=x.shape), axis=1) * relay.const(0.1)), {"reduction": knobs})
    assert failures() == before
    (plan,) = plans(lib, "reduction")
    assert knobs.items() <= plan.items()
    np.testing.assert_allclose(result(lib, x=x), np.exp(x.astype("float64").sum(1) * 0.1), rtol=1e-4)


@pytest.mark.parametrize("rows", [1, 2, 7, 14])
def test_any_plan_of_a_winograd_convolution_is_right(rows):
    x, w = random(1, 64, 56, 28), random(64, 64, 3, 3)
    body = relay.nn.conv2d(relay.var("x", shape=x.shape), relay.const(w), padding=(1, 1), kernel_size=(3, 3))
    before = failures()
    lib = compiled(body, {"winograd": {"rows": rows}})
    assert failures() == before
    assert plans(lib, "winograd") == [{"rows": rows}]
    edged = np.pad(x.astype("float64"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    want = sum(
        np.einsum("oi,nihw->nohw", w[:, :, i, j], edged[:, :, i : i + 56, j : j + 28])
        for i in range(3)
        for j in range(3)
    )
    np.testing.assert_allclose(result(lib, x=x), want, rtol=1e-3, atol=2e-2)


@pytest.mark.parametrize("vectors", [1, 2, 4])
def test_any_plan_of_reductions_of_rows_is_right(vectors):
    x = random(9, 640)
    data = relay.var("x", shape=x.shape)
    body = (data - relay.mean(data, 1, keepdims=True)) * relay.rsqrt(relay.variance(data, 1, keepdims=True))
    lib = compiled(body, {"rows": {"vectors": vectors}})
    assert plans(lib, "rows") == [{"vectors": vectors}]
    want = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    np.testing.assert_allclose(result(lib, x=x), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "rule,knobs,message",
    [
        ("pool", {"rows": 5}, "rows are a divisor of those there are"),
        ("pool", {"lanes": 64}, "more lanes than there are results"),
        ("reduction", {"rows": 5}, "rows are a divisor of those there are"),
        ("reduction", {"row_axis": 7}, "it has no such axis"),
    ],
)
def test_a_plan_of_a_pool_or_reduction_that_does_not_fit_is_reported(rule, knobs, message, capfd):
    x = relay.var("x", shape=POOL.shape)
    body = relay.nn.max_pool2d(x, (3, 3), padding=(1, 1, 1, 1)) if rule == "pool" else relay.sum(x, axis=1)
    lib = compiled(body, {rule: knobs})
    assert re.search(f"the schedule rule {rule} fits the kernel .* but failed.*{message}", capfd.readouterr().err)
    if rule == "reduction":
        np.testing.assert_allclose(result(lib, x=POOL), POOL.sum(1), atol=1e-4)


def test_a_plan_of_attention_that_does_not_fit_is_an_error():
    q, k, v = (relay.var(name, shape=(2, 40, 16)) for name in "qkv")
    body = relay.nn.batch_matmul(relay.nn.softmax(relay.nn.batch_matmul(q, k)), v, transpose_b=False)
    with pytest.raises(Exception, match="its tile has more sums than there are registers"):
        compiled(body, {"attention": {"rows": 40}})


@pytest.mark.parametrize(
    "knobs,message",
    [({"rows": 100}, "more sums than there are registers"), ({"step": 1000}, "a step is longer than k")],
)
def test_a_plan_that_does_not_fit_is_reported_and_the_next_rule_taken(knobs, message, capfd):
    lib = compiled(matmul(PLAIN), {"matmul": knobs})
    assert re.search(f"the schedule rule matmul fits the kernel .* but failed.*{message}", capfd.readouterr().err)
    np.testing.assert_allclose(result(lib, a=A, b=B), np.maximum(A.astype("float64") @ B, 0), atol=1e-4)


def test_a_knob_that_is_not_there_is_an_error_that_lists_those_that_are():
    with pytest.raises(AttributeError, match=r"has no knob .*tiles.*it has by_dots=\d+, lanes=\d+, rows=\d+"):
        compiled(matmul(PLAIN), {"matmul": {"tiles": 3}})


def test_options_that_are_no_knobs_are_errors():
    with pytest.raises(Exception, match="kernel.knobs"):
        tvm.transform.PassContext(config={"kernel.knobs": {"matmul": 3}})
