"""Costs of modules, and the choice of a toolchain by them."""

import math

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib import graph_executor
from tessera.relay import collage
from tessera.relay.dataflow_pattern import is_op, wildcard
from tessera.relay.op.contrib import get_pattern_table, register_pattern_table


class Config:
    """What a compilation configuration says of targets."""

    def __init__(self, *targets):
        self.primitive_targets = list(targets)


@pytest.fixture
def model():
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8, 8))
    return tessera.IRModule.from_expr(relay.nn.relu(relay.nn.dense(x, w)))


def test_costs_that_are_made_up(model):
    costs = collage.MockCostEstimator({"llvm": 3}, max_estimates=2)
    assert costs.estimate(model, "llvm") == 6.0
    with pytest.raises(KeyError, match="no cost of cuda; there are those of llvm"):
        costs.estimate(model, "cuda")
    with pytest.raises(RuntimeError, match="more than 2 costs"):
        costs.estimate(model, "llvm")


def test_costs_that_are_measured(model):
    assert 0 < collage.CostEstimator().estimate(model, "llvm") < math.inf


ELEMENTWISE = ("exp", "add", "nn.relu")


@pytest.fixture(scope="module")
def toolchains():
    """The C compiler for element-wise operators, and C loops for matrices."""
    if get_pattern_table("ccompiler") is None:
        args = {"add": 2}
        rows = [
            (f"ccompiler.{name}", is_op(name)(*(wildcard() for _ in range(args.get(name, 1))))) for name in ELEMENTWISE
        ]
        register_pattern_table("ccompiler", lambda: rows)
    tessera.get_global_func("relay.backend.contrib.uma.RegisterTarget")("toy_dense", {})
    tessera.register_func("relay.ext.toy_dense", dense_in_c, override=True)
    dense = is_op("nn.dense")(wildcard(), wildcard())
    rows = [("toy_dense.dense", dense), ("toy_dense.wide", dense, lambda expr: int(expr.checked_type.shape[1]) > 100)]
    register_pattern_table("toy_dense", lambda: rows)
    return "ccompiler", "toy_dense"


def dense_in_c(function):
    """relay.ext.toy_dense: one dense of the function's two arguments, also inside a composite function."""
    symbol = str(function.attrs["global_symbol"])
    (rows, depth), (columns, _) = ([int(n) for n in param.checked_type.shape] for param in function.params)
    value = [f"((float*)((DLTensor*)args[{i}].v_handle)->data)" for i in range(3)]
    source = f"""#include <tvm/runtime/c_runtime_api.h>
#ifdef __cplusplus
extern "C"
#endif
int {symbol}(TVMValue* args, int* codes, int count, void* result, int* result_code, void* resource) {{
  for (int i = 0; i < {rows}; ++i) for (int j = 0; j < {columns}; ++j) {{
    float sum = 0;
    for (int k = 0; k < {depth}; ++k) sum += {value[0]}[i * {depth} + k] * {value[1]}[j * {depth} + k];
    {value[2]}[i * {columns} + j] = sum;
  }}
  return 0;
}}
"""
    return tessera.get_global_func("runtime.CSourceModuleCreate")(source, "c", [symbol], [])


def targets(*names):
    return Config(*(tessera.target.Target(name) for name in names))


def operators(function):
    """The operators that a function computes, by name."""
    found = []

    def visit(node):
        if isinstance(node, relay.Call) and isinstance(node.op, tessera.ir.Op):
            found.append(node.op.name)

    relay.analysis.post_order_visit(function.body, visit)
    return sorted(found)


def parts(mod):
    """What each toolchain computes, and what is left to us under ""."""
    found = {}
    for function in mod.functions.values():
        compiler = str(function.attrs["Compiler"]) if function.attrs and "Compiler" in function.attrs else ""
        found.setdefault(compiler, []).append(operators(function))
    found = {compiler: sorted(names for names in each if names) for compiler, each in found.items()}
    return {compiler: each for compiler, each in found.items() if each}


def answers(mod, inputs, path):
    with tessera.transform.PassContext(opt_level=3):
        relay.build(mod, target="llvm").export_library(str(path))
    model = graph_executor.GraphModule(tessera.runtime.load_module(str(path))["default"](tessera.cpu()))
    for i, value in enumerate(inputs):
        model.set_input(i, value)
    model.run()
    return model.get_output(0).numpy()


@pytest.fixture
def chain():
    """exp, dense, relu, dense."""
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8, 8))
    hidden = relay.nn.relu(relay.nn.dense(relay.exp(x), w))
    return tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(hidden, w)))


@pytest.fixture
def check_answers(tmp_path):
    """The divided model gives the answers of the whole one."""
    return lambda before, after: compare(before, after, tmp_path)


def compare(before, after, folder):
    random = np.random.default_rng(3)
    shapes = [[int(n) for n in param.type_annotation.shape] for param in before["main"].params]
    inputs = [random.uniform(-1, 1, shape).astype("float32") for shape in shapes]
    got, wanted = (answers(mod, inputs, folder / f"{name}.so") for name, mod in (("after", after), ("before", before)))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_each_part_goes_to_the_toolchain_that_is_cheapest_for_it(chain, toolchains, check_answers):
    cheap = {"ccompiler": set(ELEMENTWISE), "toy_dense": {"nn.dense"}}

    def seconds(mod, target):
        names = [name for function in mod.functions.values() for name in operators(function)]
        return sum(1 if name in cheap.get(target.kind.name, ()) else 3 for name in names)

    config = targets("llvm", *toolchains)
    out = relay.transform.CollagePartition(config, collage.CustomCostEstimator(seconds))(chain)
    assert parts(out) == {"ccompiler": [["exp"], ["nn.relu"]], "toy_dense": [["nn.dense"], ["nn.dense"]]}
    check_answers(chain, out)


def test_what_costs_less_with_us_stays(chain, toolchains, check_answers):
    costs = collage.MockCostEstimator({"llvm": 2, "ccompiler": 3, "toy_dense": 1})
    out = relay.transform.CollagePartition(targets("llvm", *toolchains), costs)(chain)
    assert parts(out) == {"": [["exp", "nn.relu"]], "toy_dense": [["nn.dense"], ["nn.dense"]]}
    check_answers(chain, out)


def test_a_call_that_costs_something_brings_neighbours_together(toolchains, check_answers):
    x = relay.var("x", shape=(4, 8))
    mod = tessera.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.exp(relay.exp(relay.exp(x))))))

    def seconds(mod, target):
        return 10 + sum(len(operators(f)) for f in mod.functions.values()) if target.kind.name == "ccompiler" else 100

    estimator = collage.CustomCostEstimator(seconds)
    out = relay.transform.CollagePartition(targets("llvm", "ccompiler"), estimator)(mod)
    assert sorted(map(len, parts(out)["ccompiler"])) == [1, 3]  # byoc_max_depth is 3
    with tessera.transform.PassContext(config={"relay.collage.byoc_max_depth": 4}):
        out = relay.transform.CollagePartition(targets("llvm", "ccompiler"), estimator)(mod)
    assert parts(out) == {"ccompiler": [["exp", "exp", "exp", "nn.relu"]]}
    check_answers(mod, out)


def test_branches_that_meet_are_divided_rightly(toolchains, check_answers):
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8, 8))
    e = relay.exp(x)
    body = relay.concatenate([relay.add(relay.nn.dense(e, w), e), relay.nn.relu(e), e], axis=1)
    mod = tessera.IRModule.from_expr(relay.Function([x, w], body))
    costs = collage.MockCostEstimator({"llvm": 9, "ccompiler": 1, "toy_dense": 1})
    out = relay.transform.CollagePartition(targets("llvm", *toolchains), costs)(mod)
    expected = {"ccompiler": [["add"], ["exp"], ["nn.relu"]], "toy_dense": [["nn.dense"]]}
    assert parts(out) == {"": [["concatenate"]], **expected}
    check_answers(mod, out)


def test_a_check_of_a_pattern_table_rejects_a_match(toolchains):
    assert [rule.rule_name for rule in collage.make_byoc_partition_rule("toy_dense")] == [
        "toy_dense.dense",
        "toy_dense.wide",
    ]
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8, 8))
    mod = tessera.IRModule.from_expr(relay.nn.dense(x, w))
    out = relay.transform.CollagePartition(
        targets("llvm", "toy_dense"), collage.MockCostEstimator({"llvm": 9, "toy_dense": 1})
    )
    assert "toy_dense.wide" not in str(out(mod)) and "toy_dense.dense" in str(out(mod))


def test_costs_are_measured_where_no_estimator_is_given(chain, toolchains, monkeypatch, check_answers):
    monkeypatch.setattr(collage.collage, "WARMUP_MIN_REPEAT_MS", 1)
    out = relay.transform.CollagePartition(targets("llvm", *toolchains))(chain)
    check_answers(chain, out)


@pytest.mark.parametrize("name", ["llvm", "toy_dense"])
def test_without_another_offer_everything_stays(name, toolchains):
    x = relay.var("x", shape=(4, 8))
    mod = tessera.IRModule.from_expr(relay.exp(x))
    out = relay.transform.CollagePartition(targets(name), collage.MockCostEstimator({"llvm": 1}))(mod)
    tessera.ir.assert_structural_equal(out, relay.transform.InferType()(mod))
