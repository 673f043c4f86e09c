"""The graph passes of relay.build: which run when, and that no level changes what a model computes."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib import graph_executor


def network():
    random = np.random.RandomState(0)
    x = relay.var("x", shape=(1, 4, 8, 8))
    params = {"w": random.uniform(-1, 1, (6, 4, 3, 3)), "b": random.uniform(-1, 1, 6)}
    params |= {name: random.uniform(0.5, 2, 6) for name in ("gamma", "beta", "mean", "var")}
    v = {name: relay.var(name, shape=value.shape) for name, value in params.items()}
    y = relay.nn.conv2d(x, v["w"], padding=(1, 1), channels=6, kernel_size=(3, 3))
    y = relay.nn.batch_norm(relay.nn.bias_add(y, v["b"]), v["gamma"], v["beta"], v["mean"], v["var"])[0]
    y = relay.tanh(relay.nn.relu(y)) * relay.ones((1, 6, 8, 8), "float32")
    parts = [relay.nn.conv2d(y, relay.const(random.uniform(-1, 1, (2, 6, 1, 1)).astype("float32"))) for _ in range(3)]
    body = relay.nn.softmax(relay.nn.batch_flatten(relay.concatenate(parts, 1)))
    mod = tessera.IRModule.from_expr(relay.Function([x, *v.values()], body))
    return mod, {name: value.astype("float32") for name, value in params.items()}


def result(opt_level, **context):
    mod, params = network()
    with tessera.transform.PassContext(opt_level=opt_level, **context):
        lib = relay.build(mod, "llvm", params=params)
    executor = graph_executor.GraphModule(lib["default"](tessera.cpu()))
    executor.run(x=np.linspace(-1, 1, 256, dtype="float32").reshape(1, 4, 8, 8))
    return executor.get_output(0).numpy(), lib


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_all_levels_compute_the_same(level):
    np.testing.assert_allclose(result(level)[0], result(0)[0], rtol=1e-3 if level == 4 else 1e-5, atol=1e-7)


def test_at_level_three_a_normalisation_is_part_of_the_weights():
    mod, params = network()
    with tessera.transform.PassContext(opt_level=3):
        text = str(relay.optimize(mod, "llvm", params)[0])
    assert "sqrt" not in text and "multiply" not in text and text.count("nn.conv2d") == 4


def test_at_level_four_parallel_layers_are_one_and_functions_quick():
    mod, params = network()
    with tessera.transform.PassContext(opt_level=4):
        text = str(relay.optimize(mod, "llvm", params)[0])
    assert text.count("nn.conv2d") == 2 and "fast_tanh" in text


def test_passes_can_be_required_and_disabled():
    mod, params = network()
    with tessera.transform.PassContext(opt_level=3, disabled_pass=["FoldConstant"]):
        assert "sqrt" in str(relay.optimize(mod, "llvm", params)[0])
    with tessera.transform.PassContext(opt_level=3, required_pass=["FastMath"]):
        assert "fast_tanh" in str(relay.optimize(mod, "llvm", params)[0])


@pytest.mark.parametrize("name", ["CombineParallelConv2D", "CombineParallelConv2d"])
def test_a_pass_is_named_by_its_constructor_or_by_its_pass_info(name):
    mod, params = network()
    with tessera.transform.PassContext(opt_level=4, disabled_pass=[name]):
        assert str(relay.optimize(mod, "llvm", params)[0]).count("nn.conv2d") == 4
    with tessera.transform.PassContext(opt_level=3, required_pass=[name]):
        assert str(relay.optimize(mod, "llvm", params)[0]).count("nn.conv2d") == 2


def test_instruments_see_the_passes_in_order():
    seen = []

    @tessera.instrument.pass_instrument
    class Notes:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    mod, params = network()
    with tessera.transform.PassContext(opt_level=3, instruments=[Notes()]):
        relay.optimize(mod, "llvm", params)
    order = ["RemoveUnusedFunctions", "SimplifyInference", "FoldConstant", "FoldScaleAxis", "SimplifyExpr"]
    order += ["CanonicalizeOps", "AlterOpLayout", "FuseOps", "LabelKernels"]
    assert [name for name in seen if name in order][: len(order) + 1] == [*order[:7], "FoldConstant", *order[7:]]
    assert "FastMath" not in seen
