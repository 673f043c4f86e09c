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
    "knobs", [{"columns": 1}, {"columns": 3}, {"columns": 2, "vectors": 1}, {"rows": 2, "columns": 14}]
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
