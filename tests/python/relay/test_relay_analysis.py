"""Questions about Relay programs, and the ways Python walks them."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay import analysis
from tessera.relay.analysis import Feature

HEAD = '#[version = "0.0.5"]\n'


def call(op, *args):
    return relay.Call(tvm.ir.Op.get(op), list(args))


def names(variables):
    return [v.name_hint for v in variables]


def expr(text):
    return tvm.parser.parse_expr(text)


# ---- variables -----------------------------------------------------------------------------------------------------


def test_free_variables_come_in_the_order_of_their_use():
    e = expr("free_var %z; free_var %a; let %t = add(%z, %a); fn (%p) { add(%p, add(%t, %a)) }")
    assert names(analysis.free_vars(e)) == ["z", "a"]
    assert names(analysis.bound_vars(e)) == ["t", "p"]
    assert names(analysis.all_vars(e)) == ["t", "z", "a", "p"]


def test_patterns_bind_variables():
    mod = tvm.parser.fromtext(
        HEAD + "type P { P(int32, int32), } def @f(%p: P) { match (%p) { P(%a, %b) => { add(%a, %b) }, } }"
    )
    assert names(analysis.bound_vars(mod["f"])) == ["p", "a", "b"]
    assert analysis.free_vars(mod["f"]) == []
    pattern = mod["f"].body.clauses[0].lhs
    assert names(analysis.bound_vars(pattern)) == ["a", "b"]


def test_type_variables_are_found_in_annotations():
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    x = relay.var("x", a)
    f = relay.Function([x, relay.var("y", b)], x, a, [a])
    assert names(analysis.free_type_vars(f)) == ["b"]
    assert names(analysis.bound_type_vars(f)) == ["a"]
    assert set(names(analysis.all_type_vars(f))) == {"a", "b"}


def test_every_expression_is_visited_once_parts_first():
    x = relay.var("x")
    s = call("exp", x)
    seen = []
    analysis.post_order_visit(call("add", s, s), lambda e: seen.append(type(e).__name__))
    assert seen == ["Op", "Op", "Var", "Call", "Call"]


def test_bind_replaces_parameters():
    x, y, z = (relay.var(n, shape=(2,)) for n in "xyz")
    f = relay.Function([x, y], call("add", x, y))
    bound = relay.bind(f, {x: call("exp", z)})
    assert names(bound.params) == ["y", "z"]
    assert bound.body.args[0].op.name == "exp"
    assert relay.bind(f, {z: x}).same_as(f)


# ---- form -----------------------------------------------------------------------------------------------------------


def test_a_variable_is_bound_once():
    x, y = relay.var("x"), relay.var("y")
    assert analysis.well_formed(relay.Function([x], x))
    assert analysis.well_formed(relay.Let(x, y, x))
    assert not analysis.well_formed(relay.Let(x, y, relay.Let(x, y, x)))
    assert not analysis.well_formed(relay.Tuple([relay.Function([x], x), relay.Function([x], x)]))
    assert not analysis.well_formed(relay.Tuple([relay.Let(x, y, x), x]))


def test_basic_blocks_do_not_share_across_scopes():
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x")
    s = call("exp", x)
    assert analysis.check_basic_block_normal_form(relay.If(c, s, x))
    assert not analysis.check_basic_block_normal_form(relay.If(c, s, call("add", s, x)))
    assert not analysis.check_basic_block_normal_form(call("add", s, relay.If(c, s, x)))


def test_constants_are_constants_and_tuples_of_them():
    one = relay.const(1)
    assert analysis.check_constant(relay.Tuple([one, relay.Tuple([one])]))
    assert not analysis.check_constant(relay.Tuple([one, call("exp", one)]))


def test_features_of_a_program():
    x = relay.var("x")
    s = call("exp", x)
    assert analysis.detect_feature(call("add", s, s)) == {Feature.fVar, Feature.fOp, Feature.fCall, Feature.fGraph}
    f, n = relay.var("f"), relay.var("n")
    loop = relay.Let(f, relay.Function([n], relay.Call(f, [n])), f)
    assert Feature.fLetRec in analysis.detect_feature(loop)
    mod = tvm.IRModule.from_expr(relay.Function([x], x))
    assert analysis.detect_feature(mod) == {Feature.fVar, Feature.fFunction}


def test_operators_are_counted():
    x = relay.var("x", shape=(2,))
    e = call("exp", call("exp", call("tanh", x)))
    mod = tvm.IRModule.from_expr(relay.Function([x], e))
    assert analysis.list_op_freqs(mod) == {"exp": 2, "tanh": 1}
    assert analysis.count_layers(mod, ["exp"]) == 2


def test_operators_between_dequantize_and_quantize_are_counted():
    x, y = relay.var("x", shape=(1, 4), dtype="int8"), relay.var("y", shape=(1, 4))
    scale, zero = relay.const(2.0), relay.const(0)
    floats = relay.qnn.op.dequantize(x, scale, zero)
    inside = relay.nn.relu(relay.concatenate([floats, relay.nn.relu(floats)], 0))
    region = relay.qnn.op.quantize(inside, scale, zero)
    outside = relay.qnn.op.quantize(relay.exp(relay.add(floats, y)), scale, zero)  # y was never quantized
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([region, outside])))
    assert analysis.list_fake_quantized_op_freqs(mod) == {"concatenate": 1, "nn.relu": 2}


def test_kinds_of_types():
    a = relay.TypeVar("a")
    assert analysis.check_kind(relay.TupleType([a, relay.TensorType((2,))])) == relay.TypeKind.Type
    assert analysis.check_kind(relay.GlobalTypeVar("T")) == relay.TypeKind.AdtHandle
    with pytest.raises(tvm.error.DiagnosticError, match="a field of a tuple must be of kind 0"):
        analysis.check_kind(relay.TupleType([relay.ShapeVar("s")]))
    with pytest.raises(tvm.error.DiagnosticError, match="the data type T is not defined"):
        analysis.check_kind(relay.GlobalTypeVar("T")(a))


LIST = "type L { C(int32, L), N, } "


@pytest.mark.parametrize(
    ("clauses", "missing"),
    [
        ("C(_, _) => { 1 }, N => { 0 },", []),
        ("C(_, _) => { 1 },", ["N"]),
        ("N => { 1 },", ["C(_, _)"]),
        ("C(_, N) => { 1 }, N => { 0 },", ["C(_, C(_, _))"]),
        ("%x => { 1 },", []),
    ],
)
def test_cases_that_no_clause_takes(clauses, missing):
    mod = tvm.parser.fromtext(HEAD + LIST + "def @f(%l: L) { match? (%l) { " + clauses + " } }")
    found = analysis.unmatched_cases(mod["f"].body, mod)
    assert [str(pattern) for pattern in found] == missing


# ---- walks in Python ---------------------------------------------------------------------------------------------


def test_a_mutator_rebuilds_what_changed():
    class Negate(relay.ExprMutator):
        def visit_constant(self, const):
            return relay.const(-int(const.data.numpy()))

    text = str(Negate().visit(expr("let %x = add(1, 2); (%x, 3)")))
    assert "add(-1, -2)" in text and "-3" in text


def test_a_visitor_meets_shared_parts_once():
    class Count(relay.ExprVisitor):
        calls = 0

        def visit_call(self, call):
            self.calls += 1
            super().visit_call(call)

    x = relay.var("x")
    s = call("exp", x)
    counter = Count()
    counter.visit(relay.Function([x], call("add", s, s)))
    assert counter.calls == 2


def test_scopes_are_built_line_by_line():
    sb = relay.ScopeBuilder()
    cond = relay.var("cond", "bool")
    x = relay.var("x")
    with sb.if_scope(cond):
        one = sb.let("one", relay.const(1))
        sb.ret(one)
    with sb.else_scope():
        sb.ret(x)
    assert str(relay.Function([x, cond], sb.get())) == (
        "fn (%x, %cond: bool) {\n  if (%cond) {\n    let %one = 1;\n    %one\n  } else {\n    %x\n  }\n}"
    )


def test_a_loop_is_a_recursive_function():
    i = relay.var("i", shape=(), dtype="int32")
    loop = relay.while_loop(lambda i: call("less", i, relay.const(10)), [i], lambda i: [call("add", i, relay.const(1))])
    text = str(loop)
    assert "let %while_loop = fn (%i: int32)" in text
    assert "%while_loop(" in text and "(%i,)" in text


def test_operators_of_python_need_expressions():
    with pytest.raises(TypeError, match='convert "1" with `const` first'):
        relay.var("x") + 1
    with pytest.raises(TypeError, match="not supported"):
        relay.var("x") + "s"


# ---- modules -------------------------------------------------------------------------------------------------------


def test_a_module_knows_its_data_types():
    mod = tvm.parser.fromtext(HEAD + "type Box[A] { Full(A), Empty, }")
    box, full, empty = mod.get_type("Box")
    assert mod.get_global_type_vars()[0].same_as(box)
    assert mod.get_constructor(full.tag).same_as(full)
    assert full.tag != empty.tag
    with pytest.raises(ValueError, match='no data type "Bux" in the module; it has Box'):
        mod.get_type("Bux")
    with pytest.raises(ValueError, match="There is no constructor with the tag"):
        mod.get_constructor(-5)


def test_an_expression_becomes_a_function_of_its_free_variables():
    mod = tvm.IRModule.from_expr(call("add", relay.var("x"), relay.var("y")))
    assert names(mod["main"].params) == ["x", "y"]


def test_the_prelude_has_lists():
    p = relay.Prelude()
    lst, cons, nil = p.get_type("List")
    assert (cons.name_hint, nil.name_hint) == ("Cons", "Nil")
    assert p.map.name_hint == "map"
    text = str(p.mod)
    assert "def @foldl[A, B](" in text
    again = tvm.parser.fromtext(p.mod.astext())
    tvm.ir.assert_structural_equal(p.mod, again)
    p.mod.import_from_std("nat.rly")
    assert p.mod.get_type("nat")[1].name_hint == "z"
    with pytest.raises(ValueError, match="no file 'nope.rly' in the library"):
        p.mod.import_from_std("nope.rly")


def test_a_call_graph_counts_calls():
    mod = tvm.parser.fromtext(
        HEAD + "def @f(%x: int32) -> int32 { @f(%x) } def @g() { @f(1) } def @main() { add(@g(), @f(@g())) }"
    )
    graph = analysis.CallGraph(mod)
    assert graph.is_recursive("f") and not graph.is_recursive("g")
    assert graph.ref_count("f") == 3 and graph.ref_count("main") == 0
    assert graph.global_call_count("main") == 3
    assert graph["g"] == "Call graph node: g, #refs = 2\n  call: f\n"
    with pytest.raises(ValueError, match='no function "h"'):
        graph.ref_count("h")


def test_multiplications_are_counted():
    x, w = relay.var("x", shape=(1, 8, 6, 6)), relay.var("w", shape=(16, 4, 3, 3))
    conv = relay.nn.conv2d(x, w, channels=16, kernel_size=(3, 3), padding=(1, 1), groups=2)
    dense = relay.nn.dense(relay.nn.batch_flatten(conv), relay.var("v", shape=(10, 576)))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(dense), dense)))
    assert relay.analysis.get_total_mac_number(mod["main"]) == 16 * 36 * 4 * 9 + 10 * 576


def test_fused_functions_are_extracted_once_each():
    x = relay.var("x", shape=(4,))
    y = relay.nn.softmax(relay.exp(relay.nn.softmax(relay.exp(x))))
    mod = relay.transform.FuseOps(0)(tvm.IRModule.from_expr(relay.Function([x], y)))
    assert len(relay.analysis.extract_fused_functions(mod)) == 2


def test_transposed_weights_are_named():
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(4, 5))
    assert relay.analysis.search_fc_transpose(relay.nn.dense(x, relay.transpose(w, (1, 0)))) == ["w"]
    assert relay.analysis.search_fc_transpose(relay.nn.dense(x, w)) == []


def test_calibration_data_are_what_external_functions_see():
    mod = tvm.parser.parse(
        """#[version = "0.0.5"]
        def @ext(%a: Tensor[(2), float32], Compiler="test", global_symbol="ext") -> Tensor[(2), float32] { exp(%a) }
        def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { negative(@ext(add(%x, %x))) }"""
    )
    data = relay.analysis.get_calibration_data(mod, {"x": np.array([1, 2], "float32")})
    ((name, seen),) = data.items()
    assert name.name_hint == "ext"
    np.testing.assert_array_equal(seen["inputs"][0].numpy(), [2, 4])
    np.testing.assert_allclose(seen["outputs"][0].numpy(), np.exp([2, 4]), rtol=1e-6)
