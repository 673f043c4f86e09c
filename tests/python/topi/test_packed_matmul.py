"""Matmuls of models on a CPU: through panels and micro-kernels, whatever their extents and what follows them."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor

RNG = np.random.default_rng(3)


def random(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def run(body, inputs, opt_level=3):
    """The outputs of a function of the tensors `inputs`, by name; also the module as it was compiled."""
    params = [relay.var(name, shape=value.shape, dtype=str(value.dtype)) for name, value in inputs.items()]
    mod = tvm.IRModule.from_expr(relay.Function(params, body(*params)))
    with tvm.transform.PassContext(opt_level=opt_level):
        lib = relay.build(mod, "llvm")
        optimized, _ = relay.optimize(mod, "llvm")
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input(**inputs)
    module.run()
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())], optimized


def close(got, want):
    scale = np.abs(want).max()
    np.testing.assert_allclose(got / scale, want / scale, atol=2e-6)


EXTENTS = [
    (1, 1000, 512),
    (3, 77, 300),
    (5, 33, 129),
    (13, 64, 64),
    (64, 257, 96),
    (128, 768, 768),
    (197, 96, 67),
    (200, 7, 300),
    (31, 48, 1031),
]


@pytest.mark.parametrize("m,n,k", EXTENTS)
@pytest.mark.parametrize("constant", [True, False], ids=["constant weight", "weight as input"])
def test_a_linear_layer_of_any_extents(m, n, k, constant):
    x, w, b = random(m, k), random(n, k), random(n)
    inputs = {"x": x} if constant else {"x": x, "w": w}

    def body(x, w=None):
        w = relay.const(globals_w) if w is None else w
        return relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), relay.const(b)))

    globals_w = w
    (got,), optimized = run(body, inputs)
    close(got, np.maximum(x.astype("float64") @ w.T + b, 0))
    assert ("contrib_dense_pack" in optimized.astext(False)) == constant


@pytest.mark.parametrize("m,n,k", EXTENTS[2:6])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_a_matmul_with_a_constant_matrix(m, n, k, transpose_a, transpose_b):
    x, w = random(2, m, k), random(k, n)
    stored_x = np.ascontiguousarray(x.swapaxes(1, 2)) if transpose_a else x
    weight = relay.const(np.ascontiguousarray(w.T) if transpose_b else w)
    (got,), _ = run(
        lambda x: relay.nn.matmul(x, weight, transpose_a=transpose_a, transpose_b=transpose_b), {"x": stored_x}
    )
    close(got, x.astype("float64") @ w)


@pytest.mark.parametrize("m,n,k", [(128, 64, 128), (197, 197, 64), (9, 5, 33), (64, 31, 64)])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batches", [(12, 12), (3, 1), (1, 3), (1, 1)])
def test_a_batch_of_matmuls(m, n, k, transpose_b, batches):
    x, y = random(batches[0], m, k), random(batches[1], k, n)
    stored = np.ascontiguousarray(y.swapaxes(1, 2)) if transpose_b else y
    (got,), _ = run(
        lambda x, y: relay.nn.batch_matmul(x, y, transpose_a=False, transpose_b=transpose_b), {"x": x, "y": stored}
    )
    close(got, x.astype("float64") @ y)


def test_an_epilogue_may_be_larger_than_its_matmul():
    x, w, other = random(40, 64), random(48, 64), random(3, 40, 48)
    (got,), _ = run(lambda x, z: relay.add(relay.nn.dense(x, relay.const(w)), z), {"x": x, "z": other})
    close(got, x.astype("float64") @ w.T + other)


def test_a_matmul_and_its_epilogue_may_both_be_results():
    x, w = random(40, 64), random(48, 64)

    def body(x):
        y = relay.nn.dense(x, relay.const(w))
        return relay.Tuple([y, relay.nn.relu(y)])

    (plain, positive), _ = run(body, {"x": x})
    want = x.astype("float64") @ w.T
    close(plain, want)
    close(positive, np.maximum(want, 0))


def test_a_residual_and_an_activation_follow_a_product():
    x, w, rest = random(1, 128, 96), random(96, 128), random(1, 128, 128)

    def body(x, rest):
        y = relay.add(relay.nn.matmul(x, relay.const(w)), rest)
        half = relay.const(0.5)
        return y * half * (relay.const(1.0) + relay.erf(y * relay.const(0.70710678)))

    (got,), _ = run(body, {"x": x, "rest": rest})
    from math import erf

    y = x.astype("float64") @ w + rest
    close(got, y * 0.5 * (1 + np.vectorize(erf)(y * 0.70710678)))


def test_doubles_are_multiplied_as_doubles():
    x, w = random(33, 65, dtype="float64"), random(70, 65, dtype="float64")
    (got,), _ = run(lambda x: relay.nn.dense(x, relay.const(w, "float64")), {"x": x})
    np.testing.assert_allclose(got, x @ w.T, rtol=1e-12)


def test_a_constant_layer_of_integers_stays_as_it_is():
    x, w = (
        np.arange(64 * 64).reshape(64, 64).astype("int32") % 7,
        np.arange(64 * 64).reshape(64, 64).astype("int32") % 5,
    )
    (got,), optimized = run(lambda x: relay.nn.dense(x, relay.const(w)), {"x": x})
    np.testing.assert_array_equal(got, x @ w.T)
    assert "contrib_dense_pack" not in optimized.astext(False)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    from tessera._ffi.registry import get_global_func

    x, w = random(200, 300), random(500, 300)
    mod = tvm.IRModule.from_expr(
        relay.Function([v := relay.var("x", shape=x.shape)], relay.nn.dense(v, relay.const(w)))
    )
    with tvm.transform.PassContext(opt_level=3):
        model = tvm.Model(relay.build(mod, "llvm"))
    set_threads = get_global_func("runtime.config_threadpool")
    set_threads(1, 1)
    one = model.run(x)[0].numpy()
    set_threads(1, 2)
    np.testing.assert_array_equal(model.run(x)[0].numpy(), one)


@pytest.mark.parametrize("rows,columns,is_far", [(130, 2100, True), (130, 100, False), (14, 2100, False)])
def test_weights_beyond_the_cache_are_fetched_a_panel_ahead(rows, columns, is_far):
    x, w = random(rows, 1024), random(columns, 1024)
    (got,), _ = run(lambda x: relay.nn.dense(x, relay.const(w)), {"x": x})
    close(got, x.astype("float64") @ w.T)
    body = relay.nn.dense(relay.var("x", shape=x.shape), relay.const(w))
    with tvm.transform.PassContext(opt_level=3):
        library = relay.build(tvm.IRModule.from_expr(body), "llvm -mcpu=skylake-avx512")
    assert ("prefetcht1" in library.lib.get_source("asm")) == is_far


@pytest.mark.parametrize("shape", [(197, 1, 64), (1, 50, 1, 64), (3, 4, 40, 64), (64,)])
def test_rows_of_data_may_be_any_dimension(shape):
    x, w, b = random(*shape), random(64, 96), random(96)
    (got,), _ = run(lambda x: relay.add(relay.nn.matmul(x, relay.const(w)), relay.const(b)), {"x": x})
    close(got, x.astype("float64") @ w + b)


@pytest.mark.parametrize("lead", [(), (relay.Any(),), (5,)])
@pytest.mark.parametrize("is_followed", [False, True])
def test_rows_may_be_dynamic(lead, is_followed):
    """Weights are packed all the same, and rows beyond the last full tile are not stored."""
    w, b = random(70, 64), random(70)
    x = relay.var("x", shape=(*lead, relay.Any(), 64))
    body = relay.nn.dense(x, relay.const(w))
    if is_followed:
        body = relay.nn.relu(relay.add(body, relay.const(b)))
    mod = tvm.IRModule.from_expr(relay.Function([x], body))
    with tvm.transform.PassContext(opt_level=3):
        optimized, _ = relay.optimize(mod, "llvm")
        model = tvm.Model(relay.build(mod, "llvm"))
    assert "contrib_dense_pack" in optimized.astext(False)
    for rows in (1, 2, 13, 14, 15, 60):
        value = random(*([5] * len(lead)), rows, 64)
        want = value.astype("float64") @ w.T
        close(model.run(value)[0].numpy(), np.maximum(want + b, 0) if is_followed else want)
    assert model.run(random(*([5] * len(lead)), 0, 64))[0].numpy().size == 0


def test_the_weight_says_how_long_dynamic_rows_are():
    w = random(70, 64)
    x = relay.var("x", shape=(relay.Any(), relay.Any()))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.matmul(x, relay.const(w), transpose_b=True)))
    with tvm.transform.PassContext(opt_level=3):
        optimized, _ = relay.optimize(mod, "llvm")
        model = tvm.Model(relay.build(mod, "llvm"))
    assert "contrib_dense_pack" in optimized.astext(False)
    value = random(9, 64)
    close(model.run(value)[0].numpy(), value.astype("float64") @ w.T)
    with pytest.raises(ValueError):
        model.run(random(64, 9))
