"""Costs of modules, and the choice of a toolchain by them."""

import math

import pytest
import tessera
from tessera import relay
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


@pytest.mark.parametrize("external, parts", [(1, True), (9, False)])
def test_the_cheaper_toolchain_is_taken(model, external, parts):
    name = "ccompiler"
    if get_pattern_table(name) is None:
        register_pattern_table(name, lambda: [(f"{name}.dense", is_op("nn.dense")(wildcard(), wildcard()))])
    rules = collage.make_byoc_partition_rule(name)
    assert [rule.compiler for rule in rules] == [name] * len(rules)
    config = Config(tessera.target.Target("llvm"), tessera.target.Target(name))
    costs = collage.MockCostEstimator({"llvm": 5, name: external})
    out = relay.transform.CollagePartition(config, costs)(model)
    assert ("Compiler" in str(out)) == parts
