"""Passes between the forms of a program: lets and sharing."""

import tessera as tvm
from tessera import relay
from tessera.relay import transform

HEAD = '#[version = "0.0.5"]\n'


def check(change, before, after):
    mod = tvm.parser.fromtext(HEAD + before)
    with tvm.transform.PassContext(opt_level=4):
        got = change(mod)
    tvm.ir.assert_structural_equal(got, tvm.parser.fromtext(HEAD + after))


def test_lets_become_sharing():
    check(
        transform.ToGraphNormalForm(),
        "def @main(%x: float32) { let %a = let %b = exp(%x); add(%b, %b); let %dead = exp(%a); multiply(%a, %a) }",
        "def @main(%x: float32) { %0 = exp(%x); %1 = add(%0, %0); multiply(%1, %1) }",
    )


def test_lets_of_references_stay():
    text = "def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, exp(%x)); ref_read(%r) }"
    check(transform.ToGraphNormalForm(), text, text)


def test_recursive_lets_stay():
    text = "def @main() { let %f = fn (%n: int32) -> int32 { %f(%n) }; %f(1) }"
    check(transform.ToGraphNormalForm(), text, text)


def test_a_chain_of_lets_takes_no_stack():
    text = "".join(f"let %v{i} = exp({f'%v{i - 1}' if i else '%x'});\n" for i in range(20_000))
    mod = tvm.parser.fromtext(HEAD + "def @main(%x: float32) {\n" + text + "%v19999 }")
    body = transform.ToGraphNormalForm()(mod)["main"].body
    assert isinstance(body, relay.Call)


def test_equal_calls_become_one():
    check(
        transform.EliminateCommonSubexpr(),
        "def @main(%x: float32) { add(exp(%x), exp(%x)) }",
        "def @main(%x: float32) { %0 = exp(%x); add(%0, %0) }",
    )


def test_equal_numbers_are_the_same_operand():
    check(
        transform.EliminateCommonSubexpr(),
        "def @main(%x: float32) { (add(%x, 1f), add(%x, 1f), add(%x, 2f)) }",
        "def @main(%x: float32) { %0 = add(%x, 1f); (%0, %0, add(%x, 2f)) }",
    )


def test_equal_fields_become_one():
    check(
        transform.EliminateCommonSubexpr(),
        "def @main(%t: (float32, float32)) { add(add(%t.0, %t.1), %t.0) }",
        "def @main(%t: (float32, float32)) { %0 = %t.0; %1 = add(%0, %t.1); add(%1, %0) }",
    )


def test_calls_with_other_attributes_stay_apart():
    text = (
        "def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(5, 8), float32])"
        ' { (nn.dense(%x, %w, units=5), nn.dense(%x, %w, units=5, out_dtype="float32")) }'
    )
    check(transform.EliminateCommonSubexpr(), text, text)


def test_calls_may_be_kept_apart():
    text = "def @main(%x: float32) { add(exp(%x), exp(%x)) }"
    skip = transform.EliminateCommonSubexpr(lambda e: isinstance(e, relay.Call) and e.op.name == "exp")
    check(skip, text, text)


def test_functions_nobody_calls_are_dropped():
    mod = tvm.parser.fromtext(
        HEAD + "def @a() { 1 } def @b() { @a() } def @main() { @b() } def @c(%n: int32) -> int32 { @c(%n) }"
    )
    names = {v.name_hint for v in transform.RemoveUnusedFunctions()(mod).get_global_vars()}
    assert names == {"a", "b", "main"}
    names = {v.name_hint for v in transform.RemoveUnusedFunctions(["c"])(mod).get_global_vars()}
    assert names == {"c"}


def test_lets_nobody_uses_are_dropped():
    check(
        transform.DeadCodeElimination(),
        "def @main(%x: float32) { let %a = exp(%x); let %b = exp(%a); let %c = exp(%b); %a }",
        "def @main(%x: float32) { let %a = exp(%x); %a }",
    )


def test_what_a_dead_let_shares_with_the_living_stays():
    check(
        transform.DeadCodeElimination(),
        "def @main(%x: float32) { let %a = exp(%x); %0 = add(%a, %a); let %dead = %0; %0 }",
        "def @main(%x: float32) { let %a = exp(%x); add(%a, %a) }",
    )


def test_effects_are_not_dropped():
    text = "def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, exp(%x)); ref_read(%r) }"
    check(transform.DeadCodeElimination(), text, text)
    text = "def @main(%f: fn (int32) -> int32) { let %u = %f(1); 2 }"
    check(transform.DeadCodeElimination(), text, text)
    check(transform.DeadCodeElimination(ignore_impurity=True), text, "def @main(%f: fn (int32) -> int32) { 2 }")


def test_values_used_once_move_to_their_use():
    check(
        transform.DeadCodeElimination(inline_once=True),
        "def @main(%x: float32) { let %a = exp(%x); let %b = exp(%a); let %c = exp(%x); add(%b, add(%c, %c)) }",
        "def @main(%x: float32) { let %c = exp(%x); add(exp(exp(%x)), add(%c, %c)) }",
    )
    text = "def @main(%x: float32) { let %a = exp(%x); fn (%y: float32) { add(%a, %y) } }"
    check(transform.DeadCodeElimination(inline_once=True), text, text)


def test_a_value_used_once_moves_within_its_function():
    check(
        transform.DeadCodeElimination(inline_once=True),
        """def @main(%x: float32) {
             let %f = fn (%y: float32) -> float32 { let %a = exp(%y); add(%a, %y) };
             add(%f(%x), %f(%x)) }""",
        """def @main(%x: float32) {
             let %f = fn (%y: float32) -> float32 { add(exp(%y), %y) };
             add(%f(%x), %f(%x)) }""",
    )
    text = """def @main(%x: float32) -> fn () -> float32 { let %a = exp(%x); fn () -> float32 { sqrt(%a) } }"""
    check(transform.DeadCodeElimination(inline_once=True), text, text)
