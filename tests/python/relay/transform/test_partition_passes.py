"""MergeComposite, AnnotateTarget, MergeCompilerRegions and PartitionGraph."""

import numpy as np
import pytest
import tessera
from pass_checks import module
from tessera import relay
from tessera.relay import transform
from tessera.relay.dataflow_pattern import is_op, wildcard


def var(name, *shape):
    return relay.var(name, shape=shape)


@pytest.fixture(autouse=True)
def taken_operators():
    names = ["nn.relu", "add", "multiply"]
    for name in names:
        tessera.ir.register_op_attr(name, "target.somedev", lambda expr: True)
    yield
    for name in names:
        tessera.ir.Op.get(name).reset_attr("target.somedev")


def flow(expr, *first):
    mod = module(expr)
    passes = [*first, transform.AnnotateTarget("somedev"), transform.MergeCompilerRegions(), transform.PartitionGraph()]
    for one in passes:
        mod = one(mod)
    return mod


def external(mod):
    return {v.name_hint: f for v, f in mod.functions.items() if "Compiler" in (f.attrs or {})}


def test_neighbours_become_one_function():
    x, y = var("x", 4), var("y", 4)
    mod = flow(relay.exp(relay.nn.relu(relay.add(x, y))))
    (name, function), *others = external(mod).items()
    assert not others and name == "tvmgen_default_somedev_main_0"
    a, b = var("somedev_0_i0", 4), var("somedev_0_i1", 4)
    wanted = module(relay.Function([a, b], relay.nn.relu(relay.add(a, b))))
    tessera.ir.assert_structural_equal(function.body, wanted["main"].body, map_free_vars=True)
    assert str(function.attrs["Compiler"]) == "somedev" and int(function.attrs["Primitive"]) == 1
    assert [p.name_hint for p in function.params] == ["somedev_0_i0", "somedev_0_i1"]
    assert "annotation" not in str(mod)


def test_a_way_around_keeps_regions_apart():
    x = relay.nn.relu(var("x", 4))
    mod = flow(relay.add(relay.exp(x), relay.multiply(x, x)))
    functions = external(mod)
    assert sorted(functions) == ["tvmgen_default_somedev_main_0", "tvmgen_default_somedev_main_1"]
    assert isinstance(functions["tvmgen_default_somedev_main_0"].body, relay.Tuple)


def test_a_way_around_through_what_nobody_marked_keeps_regions_apart():
    mark = lambda name: lambda value: relay.annotation.compiler_end(value, name)
    take = lambda name, value: relay.annotation.compiler_begin(value, name)
    first = mark("a")(relay.nn.relu(take("a", var("x", 4))))
    unmarked = relay.Tuple([relay.exp(first)])
    second = mark("b")(relay.tanh(take("b", relay.TupleGetItem(unmarked, 0))))
    last = mark("a")(relay.add(take("a", first), take("a", second)))
    merged = transform.MergeCompilerRegions()(module(last))
    tessera.ir.assert_structural_equal(merged, module(last))
    alone = mark("a")(relay.nn.relu(take("a", first)))
    assert str(transform.MergeCompilerRegions()(module(alone))).count("compiler_begin") == 1


def test_regions_of_long_programs_are_merged():
    x = var("x", 4)
    for _ in range(5000):  # relu and relu become one region, which exp keeps from the next
        x = relay.exp(relay.nn.relu(relay.nn.relu(x)))
    mod = transform.MergeCompilerRegions()(transform.AnnotateTarget("somedev")(module(x)))
    begins = []
    relay.analysis.post_order_visit(mod["main"].body, lambda e: begins.append(e) if is_begin(e) else None)
    assert len(begins) == 10000


def is_begin(expr):
    return isinstance(expr, relay.Call) and getattr(expr.op, "name", "") == "annotation.compiler_begin"


def test_constants_are_bound_unless_told_otherwise():
    expr = relay.add(var("x", 4), relay.const(1.0))
    mod = transform.AnnotateTarget("somedev")(module(expr))
    bound = external(transform.PartitionGraph()(mod))["tvmgen_default_somedev_main_0"]
    open_ = external(transform.PartitionGraph("m", bind_constants=False)(mod))["tvmgen_m_somedev_main_0"]
    assert len(bound.params) == 1 and len(open_.params) == 2


def test_nothing_taken_nothing_changed():
    mod = module(relay.exp(relay.tanh(var("x", 4))))
    tessera.ir.assert_structural_equal(flow(mod), mod)


def test_patterns_become_composite_functions_that_a_target_takes():
    x, y, z = var("x", 3), var("y", 3), var("z", 3)
    pattern = is_op("add")(is_op("multiply")(wildcard(), wildcard()), wildcard())
    merge = transform.MergeComposite([("somedev.mul_add", pattern)])
    mod = flow(relay.exp(relay.add(relay.multiply(x, y), z)), merge)
    (function,) = external(mod).values()
    assert str(function.body.op.attrs["Composite"]) == "somedev.mul_add"
    rejected = transform.MergeComposite([("somedev.mul_add", pattern, lambda found: False)])
    before = module(relay.add(relay.multiply(x, y), z))
    tessera.ir.assert_structural_equal(rejected(before), before)


def test_patterns_are_registered_by_the_name_of_a_code_generator():
    from tessera.relay.op.contrib import get_pattern_table, register_pattern_table

    @register_pattern_table("tests_somedev")
    def patterns():
        return [("tests_somedev.relu", relay.dataflow_pattern.is_op("nn.relu")(relay.dataflow_pattern.wildcard()))]

    x = relay.var("x", shape=(2,))
    mod = tessera.IRModule.from_expr(relay.Function([x], relay.exp(relay.nn.relu(x))))
    merged = transform.MergeComposite(get_pattern_table("tests_somedev"))(mod)
    assert 'Composite="tests_somedev.relu"' in merged.astext()
    assert get_pattern_table("tests_nobody") is None


def test_symbols_are_identifiers_of_c_and_are_counted_in_each_function():
    x = var("x", 4)
    for op in ("exp", "nn.relu"):
        tessera.ir.register_op_attr(op, "target.odd-dev+1", lambda call: True)
    mod = tessera.IRModule()
    mod["f"] = relay.Function([x], relay.nn.relu(x))
    mod["main"] = relay.Function([x], relay.tanh(relay.exp(relay.tanh(relay.exp(x)))))
    out = transform.PartitionGraph()(transform.AnnotateTarget("odd-dev+1")(transform.InferType()(mod)))
    names = sorted(var.name_hint for var in out.get_global_vars() if "tvmgen" in var.name_hint)
    assert names == [
        "tvmgen_default_odd_dev_1_f_0",
        "tvmgen_default_odd_dev_1_main_0",
        "tvmgen_default_odd_dev_1_main_1",
    ]
    assert str(out["tvmgen_default_odd_dev_1_f_0"].attrs["Compiler"]) == "odd-dev+1"


def test_a_tuple_that_leaves_a_region_leaves_it_field_by_field():
    from tessera.relay.op.annotation import compiler_begin, compiler_end

    x = var("x", 4)
    inside = compiler_begin(x, "dev")
    pair = compiler_end(relay.Tuple([relay.exp(inside), relay.tanh(inside)]), "dev")
    out = transform.PartitionGraph()(module(relay.Tuple([relay.TupleGetItem(pair, 1), relay.TupleGetItem(pair, 0)])))
    (function,) = external(out).values()
    assert len(function.ret_type.fields) == 2 and [call.op.name for call in function.body.fields] == ["exp", "tanh"]
    assert "tvmgen_default_dev_main_0" in str(out["main"])


def test_a_tuple_of_constants_is_bound():
    from tessera.relay.op.annotation import compiler_begin, compiler_end

    parts = relay.Tuple([relay.const([1.0, 2.0]), relay.const([3.0])])
    joined = relay.concatenate(compiler_begin(parts, "dev"), 0)
    out = transform.PartitionGraph()(module(compiler_end(relay.add(joined, compiler_begin(var("x", 3), "dev")), "dev")))
    (function,) = external(out).values()
    assert len(function.params) == 1


def test_new_functions_go_through_the_optimizer_of_their_generator():
    def optimize(mod):
        assert [var.name_hint for var in mod.get_global_vars()] == ["tvmgen_default_tests_opt_main_0"]
        (name,) = mod.get_global_vars()
        return tessera.IRModule({name: mod[name].with_attr("seen", tessera.runtime.String("yes"))})

    tessera.ir.register_op_attr("exp", "target.tests_opt", lambda call: True)
    tessera.register_func("relay.ext.tests_opt.optimize", optimize, override=True)
    out = transform.PartitionGraph()(transform.AnnotateTarget("tests_opt")(module(relay.exp(var("x", 4)))))
    assert str(out["tvmgen_default_tests_opt_main_0"].attrs["seen"]) == "yes"


def test_a_composite_function_has_a_parameter_for_each_wildcard():
    # A code generator that takes the second argument of `add` finds it, also where both are one value.
    x = var("x", 4)
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    mod = transform.MergeComposite([("somedev.sum", pattern)])(module(relay.nn.relu(relay.add(x, x))))
    call = mod["main"].body
    assert len(call.op.params) == len(call.args) == 2
    got = relay.create_executor("vm", mod).evaluate()(np.array([-1, 0, 1, 2], "float32"))
    np.testing.assert_array_equal(got.numpy(), [0, 0, 2, 4])
