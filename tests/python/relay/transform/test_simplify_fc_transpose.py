"""Weights that dense layers transpose at each call, transposed beforehand."""

import numpy as np
import tessera as tvm
from tessera import relay

RNG = np.random.default_rng(0)
X, W = RNG.standard_normal((2, 4)).astype("float32"), RNG.standard_normal((4, 3)).astype("float32")


def layer(extra=None):
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(4, 3))
    y = relay.nn.dense(x, relay.transpose(w, axes=[1, 0]))
    return relay.Function([x, w], y if extra is None else extra(y, w))


def test_a_transposed_weight_comes_transposed():
    function, params = relay.data_dep_optimization.simplify_fc_transpose.convert(layer(), {"w": tvm.nd.array(W)})
    assert [param.name_hint for param in function.params] == ["x", "w.T"]
    assert "transpose" not in function.astext() and list(params) == ["w.T"]
    run = relay.create_executor("graph", tvm.IRModule.from_expr(function), tvm.cpu(), "llvm").evaluate()
    np.testing.assert_allclose(run(X, params["w.T"]).numpy(), X @ W, rtol=1e-5)


def test_a_weight_that_is_used_elsewhere_stays_beside_it():
    both = layer(lambda y, w: relay.Tuple([y, relay.exp(w)]))
    function, params = relay.data_dep_optimization.simplify_fc_transpose.convert(both, {"w": tvm.nd.array(W)})
    assert [param.name_hint for param in function.params] == ["x", "w", "w.T"]
    assert sorted(params) == ["w", "w.T"]


def test_only_named_weights_are_changed():
    with tvm.transform.PassContext(opt_level=4):
        mod = relay.transform.SimplifyFCTranspose(["other"])(tvm.IRModule.from_expr(layer()))
    assert "transpose" in mod["main"].astext()
