"""Normal forms, inlining, lambda lifting, eta expansion: what they make of a program, and that it means the same."""

import pytest
import tessera as tvm
from tessera import relay
from tessera.ir import assert_structural_equal
from tessera.relay import testing, transform


def parse(text):
    return transform.InferType()(tvm.parser.parse('#[version = "0.0.5"]\n' + text))


def flat(value):
    """A value of the interpreter as nested lists of numbers."""
    if isinstance(value, tvm.nd.NDArray):
        return value.numpy().tolist()
    if hasattr(value, "constructor"):
        return [value.constructor.name_hint, *(flat(field) for field in value.fields)]
    return [flat(field) for field in value]


def run(mod, *args):
    return flat(relay.create_executor("debug", mod=mod).evaluate()(*args))


PROGRAMS = {
    "graph": ("def @main(%x: float32) -> float32 { %0 = exp(%x); add(%0, multiply(%0, 2f)) }", [0.5]),
    "shared over branches": (
        """def @main(%x: float32) -> float32 {
          %0 = multiply(%x, 3f);
          %1 = if (greater(%x, 1f)) { add(%0, 1f) } else { if (less(%x, 0f)) { negative(%0) } else { %0 } };
          subtract(%1, %0)
        }""",
        [2.0],
    ),
    "nested lets": (
        """def @main(%x: float32) -> float32 {
          let %a = let %b = add(%x, 1f); multiply(%b, %b); let %c = %a; subtract(%c, let %d = %a; %d)
        }""",
        [3.0],
    ),
    "closures": (
        """def @main(%x: float32) -> float32 {
          let %f = fn (%y: float32) { let %g = fn (%z: float32) { add(multiply(%x, %y), %z) }; %g(%y) };
          add(%f(%x), %f(10f))
        }""",
        [2.0],
    ),
    "recursion": (
        """def @main(%n: int32, %x: float32) -> float32 {
          let %pow = fn (%i: int32) -> float32 {
            if (equal(%i, 0)) { 1f } else { multiply(%x, %pow(subtract(%i, 1))) }
          };
          %pow(%n)
        }""",
        [5, 2.0],
    ),
    "recursion below another": (
        """def @main(%x: int32) -> int32 {
          let %outer = fn (%n: int32) -> int32 {
            let %inner = fn (%k: int32) -> int32 { if (equal(%k, 0)) { 0 } else { %outer(subtract(%k, 1)) } };
            add(%x, %inner(%n))
          };
          %outer(4)
        }""",
        [7],
    ),
    "globals": (
        """def @twice(%f: fn (float32) -> float32, %a: float32, Inline=1) -> float32 { %f(%f(%a)) }
        def @inc(%a: float32, Inline=1) -> float32 { let %b = add(%a, 1f); %b }
        def @main(%x: float32) -> float32 { add(@twice(@inc, %x), @inc(@inc(%x))) }""",
        [1.0],
    ),
    "references": (
        """def @main(%x: float32) -> (float32, float32) {
          let %r = ref(%x);
          let %add = fn (%a: float32) { ref_write(%r, add(ref_read(%r), %a)) };
          let %u = %add(1f);
          let %v = ref_read(%r);
          let %w = %add(10f);
          (%v, ref_read(%r))
        }""",
        [3.0],
    ),
    "data types": (
        """type Tree { Leaf, Node(Tree, float32, Tree), }
        def @insert(%t: Tree, %x: float32) -> Tree {
          match (%t) {
            Leaf => { Node(Leaf, %x, Leaf) },
            Node(%l, %y, %r) => {
              if (less(%x, %y)) { Node(@insert(%l, %x), %y, %r) } else { Node(%l, %y, @insert(%r, %x)) }
            },
          }
        }
        def @main(%x: float32) -> Tree { @insert(@insert(@insert(Leaf, %x), 1f), 5f) }""",
        [3.0],
    ),
    "constructors as functions": (
        """type Pair[A] { Pair(A, A), }
        def @apply[A](%f: fn (A, A) -> Pair[A], %a: A) -> Pair[A] { %f(%a, %a) }
        def @main(%x: float32) -> Pair[float32] { @apply(Pair, %x) }""",
        [3.0],
    ),
}

PASSES = {
    "ToANormalForm": [transform.ToANormalForm],
    "ToBasicBlockNormalForm": [transform.ToBasicBlockNormalForm],
    "to A-normal form and back": [transform.ToANormalForm, transform.ToGraphNormalForm],
    "Inline": [transform.Inline],
    "LambdaLift": [transform.LambdaLift],
    "EtaExpand": [lambda: transform.EtaExpand(True, True)],
    "PartialEvaluate": [transform.PartialEvaluate],
    "PartialEvaluate, then dead code": [transform.PartialEvaluate, transform.DeadCodeElimination],
    "all": [
        lambda: transform.EtaExpand(True, True),
        transform.Inline,
        transform.ToBasicBlockNormalForm,
        transform.LambdaLift,
        transform.ToANormalForm,
    ],
}


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_means_the_same_afterwards(program, passes):
    text, args = PROGRAMS[program]
    mod = parse(text)
    before = run(mod, *args)
    for make in PASSES[passes]:
        mod = transform.InferType()(make()(mod))
        assert relay.analysis.well_formed(mod)
    assert run(mod, *args) == before


@pytest.mark.parametrize("program", sorted(set(PROGRAMS) - {"constructors as functions"}))
def test_continuation_passing_style_and_back_means_the_same(program):
    text, args = PROGRAMS[program]
    mod = parse(text)
    before = run(mod, *args)
    in_cps = transform.to_cps(mod["main"], mod)
    assert in_cps.params[-1].name_hint == "k" and str(in_cps.ret_type) == "answer"
    mod["main"] = in_cps
    mod = transform.InferType()(mod)
    mod["main"] = transform.un_cps(mod["main"])
    mod = transform.InferType()(mod)
    assert run(mod, *args) == before
    assert run(transform.PartialEvaluate()(mod), *args) == before


def is_atom(expr):
    return isinstance(expr, (relay.Var, relay.GlobalVar, tvm.ir.Op, relay.Constructor))


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_a_normal_form_operands_are_names(program):
    mod = transform.ToANormalForm()(parse(PROGRAMS[program][0]))

    def check(expr):
        if isinstance(expr, relay.Call):
            assert is_atom(expr.op) and all(is_atom(arg) for arg in expr.args), expr
        if isinstance(expr, relay.Tuple):
            assert all(is_atom(field) for field in expr.fields), expr

    for function in mod.functions.values():
        relay.analysis.post_order_visit(function, check)


@pytest.mark.parametrize("program", PROGRAMS)
def test_basic_block_normal_form_is_what_the_analysis_calls_so(program):
    mod = transform.ToBasicBlockNormalForm()(parse(PROGRAMS[program][0]))
    for function in mod.functions.values():
        assert relay.analysis.check_basic_block_normal_form(function)


def test_a_normal_form_names_in_the_order_of_evaluation():
    x, y, z = relay.const(1), relay.const(2), relay.const(3)
    anf = testing.run_opt_pass(
        relay.add(x, relay.multiply(y, z)),
        tvm.transform.Sequential([transform.ToANormalForm(), transform.InferType()]),
    )
    a, b, c, d, e = (relay.var(name, "int32") for name in "abcde")
    expected = relay.Let(e, relay.add(a, d), e)
    expected = relay.Let(d, relay.multiply(b, c), expected)
    expected = relay.Let(a, x, relay.Let(b, y, relay.Let(c, z, expected)))
    assert_structural_equal(anf, testing.run_infer_type(expected))


def test_primitive_functions_stay_whole():
    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.add(x, relay.const(1.0)))))
    mod = transform.ToANormalForm()(transform.FuseOps(2)(mod))
    assert isinstance(mod["main"].body.value, relay.Function)
    assert isinstance(mod["main"].body.value.body, relay.Call)


def test_one_expression_in_a_normal_form():
    x = relay.var("x", shape=())
    out = transform.ToANormalFormExpr(relay.exp(relay.negative(x)))
    assert isinstance(out, relay.Let) and out.body.value.args[0].same_as(out.var)


def test_a_long_chain_takes_linear_time_and_no_deep_stack():
    x = relay.var("x", shape=())
    y = x
    for _ in range(50000):
        y = relay.negative(y)
    mod = tvm.IRModule.from_expr(relay.Function([x], y))
    for make in (transform.ToANormalForm, transform.ToBasicBlockNormalForm, transform.Inline):
        out = make()(mod)
        assert isinstance(out["main"].body, (relay.Let, relay.Call))
    count = 0
    body = transform.ToANormalForm()(mod)["main"].body
    while isinstance(body, relay.Let):
        body = body.body
        count += 1
    assert count == 50000


def test_a_function_that_captures_nothing_is_lifted_as_it_is():
    mod = transform.LambdaLift()(
        parse("def @main(%x: float32) -> float32 { let %f = fn (%a: float32) { exp(%a) }; %f(%x) }")
    )
    (lifted,) = (f for var, f in mod.functions.items() if var.name_hint.startswith("lifted_name"))
    assert not lifted.attrs or "Closure" not in lifted.attrs
    assert isinstance(mod["main"].body.value, relay.GlobalVar)


def test_a_closure_is_made_by_a_global_that_takes_what_it_captures():
    mod = transform.LambdaLift()(parse(PROGRAMS["recursion"][0]))
    (var,) = (var for var in mod.functions if var.name_hint.startswith("lifted_name"))
    maker = mod[var]
    assert int(maker.attrs["Closure"]) == 1
    assert [param.name_hint for param in maker.params] == ["x"]
    assert isinstance(maker.body, relay.Function)
    again = transform.LambdaLift()(mod)
    assert_structural_equal(again, mod)


def test_a_recursive_function_is_not_inlined():
    mod = parse(
        """def @loop(%i: int32, Inline=1) -> int32 { if (equal(%i, 0)) { 0 } else { @loop(subtract(%i, 1)) } }
        def @main(%i: int32) -> int32 { @loop(%i) }"""
    )
    out = transform.Inline()(mod)
    assert sorted(var.name_hint for var in out.functions) == ["loop", "main"]
    assert run(out, 3) == 0


def test_an_inlined_function_that_nobody_uses_any_more_is_dropped():
    mod = transform.Inline()(parse(PROGRAMS["globals"][0]))
    assert [var.name_hint for var in mod.functions] == ["main"]
    assert relay.analysis.well_formed(mod["main"])


def lets_of(expr):
    out = []
    while isinstance(expr, relay.Let):
        out.append(expr.value)
        expr = expr.body
    return out, expr


def test_partial_evaluation_unrolls_a_loop_over_known_numbers():
    mod = transform.PartialEvaluate()(
        parse(
            """def @loop(%i: int32, %acc: float32) -> float32 {
              if (greater(%i, 0)) { @loop(subtract(%i, 1), add(%acc, %acc)) } else { %acc }
            }
            def @main(%x: float32) -> float32 { @loop(3, %x) }"""
        )
    )
    values, _ = lets_of(mod["main"].body)
    assert [v.op.name for v in values if isinstance(v, relay.Call)] == ["add"] * 3
    assert run(mod, 1.5) == 12.0


def test_partial_evaluation_keeps_a_loop_over_unknown_numbers():
    text = """def @main(%n: int32, %x: float32) -> float32 {
      let %loop = fn (%i: int32, %acc: float32) -> float32 {
        if (greater(%i, 0)) { %loop(subtract(%i, 1), add(%acc, %acc)) } else { %acc }
      };
      %loop(%n, %x)
    }"""
    mod = transform.PartialEvaluate()(parse(text))
    assert relay.analysis.well_formed(mod["main"])
    assert [run(mod, n, 1.0) for n in (0, 1, 5)] == [1.0, 2.0, 32.0]


def test_partial_evaluation_follows_references_and_data():
    mod = parse(
        """type List[A] { Cons(A, List[A]), Nil, }
        def @sum(%l: List[float32], %r: ref(float32)) -> () {
          match (%l) { Nil => { () }, Cons(%h, %t) => {
            let %u = ref_write(%r, add(ref_read(%r), %h));
            @sum(%t, %r)
          }, }
        }
        def @main(%x: float32) -> float32 {
          let %r = ref(0f);
          let %u = @sum(Cons(%x, Cons(2f, Cons(%x, Nil))), %r);
          ref_read(%r)
        }"""
    )
    out = transform.PartialEvaluate()(mod)
    main = str(out["main"])
    assert "match" not in main and "ref_read" not in main and "@sum" not in main
    assert run(out, 5.0) == run(mod, 5.0) == 12.0


def test_eta_expansion_makes_functions_of_values():
    mod = parse("def @aux(%x: int32) -> int32 { %x } def @main() -> int32 { let %f = @aux; %f(0) }")
    expected = parse(
        "def @aux(%x: int32) -> int32 { %x } def @main() -> int32 { let %f = fn (%x: int32) -> int32 { @aux(%x) }; %f(0) }"
    )
    assert_structural_equal(transform.EtaExpand(expand_global_var=True)(mod), expected)
    assert_structural_equal(transform.EtaExpand(expand_constructor=True)(mod), mod)
