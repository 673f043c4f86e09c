"""Relay as text: what is printed, what is read back, and what is rejected."""

import random

import numpy as np
import pytest
import tessera as tvm
from tessera import relay

HEAD = '#[version = "0.0.5"]\n'


def call(op, *args):
    return relay.Call(tvm.ir.Op.get(op), list(args))


def parsed(text):
    return tvm.parser.fromtext(HEAD + text)


def body_text(text):
    """A module printed without types and spans."""
    import re

    return re.sub(r" /\*.*?\*/", "", str(parsed(text))).strip()


def round_trip(mod):
    again = tvm.parser.fromtext(mod.astext())
    tvm.ir.assert_structural_equal(mod, again)
    assert tvm.ir.structural_hash(mod) == tvm.ir.structural_hash(again)
    return again


# ---- printing ----------------------------------------------------------------------------------------------------


def test_operands_are_numbered_in_the_order_of_their_users():
    x = relay.var("x", shape=(3,))
    a, b = call("exp", x), call("tanh", x)
    f = relay.Function([x], call("add", call("exp", a), call("tanh", b)))
    assert str(f) == (
        "fn (%x: Tensor[(3), float32]) {\n"
        "  %0 = exp(%x);\n  %1 = tanh(%x);\n  %2 = exp(%0);\n  %3 = tanh(%1);\n  add(%2, %3)\n}"
    )


def test_a_shared_expression_is_written_once():
    x = relay.var("x", shape=(3,))
    s = call("exp", x)
    assert str(relay.Function([x], call("add", s, s))) == (
        "fn (%x: Tensor[(3), float32]) {\n  %0 = exp(%x);\n  add(%0, %0)\n}"
    )


def test_a_shared_end_of_scope_gets_a_number():
    x = relay.var("x", shape=())
    s = call("exp", x)
    t = relay.var("t")
    text = str(relay.Function([x], relay.Let(t, s, call("add", t, s))))
    assert "%0 = exp(%x);\n  let %t = %0;\n  add(%t, %0)" in text


def test_free_variables_are_declared_first():
    assert str(call("add", relay.var("x", shape=(3,)), relay.var("q"))) == (
        "free_var %x: Tensor[(3), float32];\nfree_var %q;\nadd(%x, %q)"
    )


def test_equal_names_are_told_apart():
    x, y = relay.var("x"), relay.var("x")
    assert str(relay.Function([x, y], y)) == "fn (%x, %x1) {\n  %x1\n}"
    assert str(relay.Function([relay.var("1")], relay.Tuple([]))) == "fn (%v1) {\n  ()\n}"


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1, "int32", "1"),
        (1, "int64", "1i64"),
        (-2, "int16", "-2i16"),
        (1.5, "float32", "1.5f"),
        (0.1, "float16", "0.0999756f16"),
        (2, "float64", "2f64"),
        (True, "bool", "True"),
        (7, "int8", "meta[relay.Constant][0]\n"),
    ],
)
def test_scalars_carry_their_type_as_a_suffix(value, dtype, text):
    assert str(relay.const(value, dtype)) == text


def test_large_constants_stand_in_the_metadata():
    c = relay.const(np.array([1.0, 2.0], "float32"))
    f = relay.Function([], relay.Tuple([c, c]))
    assert "(meta[relay.Constant][0], meta[relay.Constant][0])" in str(f)
    assert "#[metadata]" in f.astext()
    assert "metadata section has been omitted" in f.astext(show_meta_data=False)
    mod = relay_infer(tvm.IRModule.from_expr(f))
    again = round_trip(mod)
    np.testing.assert_array_equal(again["main"].body.fields[0].data.numpy(), [1.0, 2.0])


def relay_infer(mod):
    return tvm.get_global_func("relay._transform.InferType")()(mod)


def test_annotate_replaces_the_comments():
    x = relay.var("x", shape=(3,))
    text = call("exp", x).astext(annotate=lambda e: " /* here */" if isinstance(e, relay.Call) else "")
    assert "exp(%x) /* here */" in text


def test_a_let_that_is_an_operand_stands_in_parentheses():
    x, t = relay.var("x"), relay.var("t")
    text = str(call("exp", relay.Let(t, x, t)))
    assert "%0 = (\n  let %t = %x;\n  %t\n);" in text


def test_types_of_all_kinds_have_a_text():
    a = relay.TypeVar("a")
    assert str(relay.TensorType((3, relay.Any()), "int8")) == "Tensor[(3, ?), int8]"
    assert str(relay.TupleType([relay.scalar_type("bool")])) == "(bool,)"
    assert str(relay.FuncType([a], a, [a])) == "fn [a](a) -> a"
    assert str(relay.RefType(relay.TensorType((2,)))) == "ref(Tensor[(2), float32])"
    assert str(relay.GlobalTypeVar("Flag")()) == "Flag[]"


def test_a_chain_of_a_hundred_thousand_calls_prints():
    x = relay.var("x", shape=(1,))
    e = x
    for _ in range(100_000):
        e = call("exp", e)
    lines = str(relay.Function([x], e)).split("\n")
    assert len(lines) == 100_002
    assert lines[-2] == "  exp(%99998)"


# ---- reading --------------------------------------------------------------------------------------------------------


def test_infix_operators_follow_precedence():
    assert body_text("def @main(%a: int32, %b: int32) { %a - %b - %a * 2 / %b < 3 }") == (
        "def @main(%a: int32, %b: int32) -> bool {\n  %0 = multiply(%a, 2);\n  %1 = subtract(%a, %b);\n"
        "  %2 = divide(%0, %b);\n  %3 = subtract(%1, %2);\n  less(%3, 3)\n}"
    )


def test_comments_nest():
    assert body_text("def @main() { /* a /* b */ c */ 1 // tail\n }") == "def @main() -> int32 {\n  1\n}"


def test_graph_variables_are_shared():
    mod = parsed("def @main(%x: float32) { %0 = exp(%x); add(%0, %0) }")
    add = mod["main"].body
    assert add.args[0].same_as(add.args[1])


def test_each_function_has_graph_variables_of_its_own():
    mod = parsed("def @a(%x: float32) { %0 = exp(%x); %0 } def @b(%y: float32) { %0 = tanh(%y); %0 }")
    assert mod["b"].body.op.name == "tanh"


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: Tensor[(2, 3), float32]) { add(%x, 1f) }",
        "def @main(%c: bool, %x: Tensor[(3), float32]) { let %y = if (%c) { exp(%x) } else { %x }; (%y, %x).0 }",
        "type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]), } def @first[A](%t: Tree[A]) -> A"
        " { match (%t) { Leaf(%v) => %v, Node(%l, _) => @first(%l), } }",
        "def @main() { let %f = fn (%x: int32) -> int32 { %x + 1 }; %f(%f(3)) }",
        "def @id[T](%x: T) -> T { %x } def @main() { @id(@id(1)) }",
        "def @main(%x: Tensor[(?, 4), float16]) { let %r = ref(%x); let %_ = ref_write(%r, %x); ref_read(%r) }",
        'def @main(%x: Tensor[(2), float32], Primitive=1, Compiler="dummy") { negative(%x) }',
        "def @main() { (1, 1i64, -2i16, 1.5f, 2f64, 3.5f16, True, False, -1.5e-3f) }",
        "def @app(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%x) }",
        "type Flag { On, Off, } def @main(%b: Flag[]) -> int32 { match? (%b) { On => { 1 }, } }",
        "def @main(%t: (Tensor[(2), int8], (bool, ()))) { let %u = %t.1; %u.0 }",
    ],
)
def test_what_is_printed_reads_back_equal(text):
    mod = parsed(text)
    assert str(round_trip(mod)).count("\n") == str(mod).count("\n")


def test_names_of_type_parameters_do_not_matter():
    a, b = parsed("def @id[T](%x: T) -> T { %x }"), parsed("def @id[S](%y: S) -> S { %y }")
    tvm.ir.assert_structural_equal(a, b)
    assert tvm.ir.structural_hash(a) == tvm.ir.structural_hash(b)


def test_sharing_is_part_of_equality():
    shared = parsed("def @main(%x: float32) { %0 = exp(%x); add(%0, %0) }")
    apart = parsed("def @main(%x: float32) { add(exp(%x), exp(%x)) }")
    assert not tvm.ir.structural_equal(shared, apart)


def test_json_keeps_types_and_sharing():
    mod = parsed("type Box[A] { Full(A), } def @main(%b: Box[float32]) { match (%b) { Full(%v) => { add(%v, %v) }, } }")
    again = tvm.ir.load_json(tvm.ir.save_json(mod))
    tvm.ir.assert_structural_equal(mod, again)


def test_a_hundred_thousand_bindings_read_back():
    lines = ["free_var %x: float32;", "%0 = exp(%x);"]
    lines += [f"%{i} = exp(%{i - 1});" for i in range(1, 100_000)]
    e = tvm.parser.parse_expr("\n".join([*lines, "%99999"]))
    depth = 0
    while isinstance(e, relay.Call):
        e, depth = e.args[0], depth + 1
    assert depth == 100_000
    lets = "let %v = 1f;\n" * 100_000 + "%v"
    assert str(tvm.parser.parse_expr(lets)).count("let ") == 100_000


def test_a_module_is_read_in_the_context_of_another():
    first = parsed("def @one() { 1 }")
    mod = tvm.parser.parse(HEAD + "def @main() { @one() }", init_module=first)
    assert {v.name_hint for v in mod.get_global_vars()} == {"one", "main"}
    assert {v.name_hint for v in first.get_global_vars()} == {"one"}


def test_metadata_may_be_given():
    table = {"relay.Constant": [relay.const(np.zeros((2, 2), "float32"))]}
    mod = tvm.parser.parse(HEAD + "def @main() { meta[relay.Constant][0] }", init_meta_table=table)
    assert mod["main"].body.data.shape == (2, 2)


# ---- positions and errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "underlined"),
    [
        ("def @main() { %x }", "the local variable `%x` has not been previously declared", "%x"),
        ("def @main() { @nope(1) }", "the function `@nope` is not defined", "@nope"),
        (
            "def @main() { frobnicate(1) }",
            "operator `frobnicate` not found, perhaps you forgot to register it?",
            "frobnicate",
        ),
        ("def @main(%x: Tensor[2, float32]) { %x }", "expected a `(` found integer", "2"),
        ("def @main(%x: flaot32) { match (%x) { Foo(_) => { 1 }, } }", "undefined constructor name `Foo`", "Foo"),
        ("def @main() { 12345678901234567890 }", "more than 64 bits", "12345678901234567890"),
        ("def @main() { meta[relay.Constant][3] }", "no entry in the meta table", "meta[relay.Constant][3]"),
        ("def @main() { %7 }", "`%7` has not been previously defined", "%7"),
        ("def @main() { 1 ", "expected a `}` found end of file", ""),
    ],
)
def test_an_error_underlines_the_position(text, message, underlined):
    with pytest.raises(tvm.error.DiagnosticError) as raised:
        parsed(text)
    shown = str(raised.value).split("\n")
    assert any(message in line for line in shown), str(raised.value)
    at = next(i for i, line in enumerate(shown) if "from_string:2:" in line)
    source, marks = shown[at + 2], shown[at + 3]
    assert text in source
    begin = marks.index("^")
    assert source[begin:].startswith(underlined)
    assert marks.count("^") == max(len(underlined), 1)


def test_the_version_is_required():
    with pytest.raises(tvm.error.DiagnosticError, match="expected text format semantic version"):
        tvm.parser.fromtext("def @main() { 1 }")
    with pytest.raises(tvm.error.DiagnosticError, match='invalid semantic version `"9.9"`'):
        tvm.parser.fromtext('#[version = "9.9"]\ndef @main() { 1 }')


def test_nesting_without_end_is_an_error():
    with pytest.raises(tvm.error.DiagnosticError, match="nested deeper than"):
        tvm.parser.parse_expr("(" * 200_000)
    with pytest.raises(tvm.error.DiagnosticError, match="nested deeper than"):
        tvm.parser.parse_expr("free_var %x: " + "(" * 200_000)


def test_random_text_is_rejected_and_nothing_else():
    words = [
        "def",
        "@main",
        "%x",
        "%0",
        "%1",
        "fn",
        "let",
        "if",
        "else",
        "match",
        "match?",
        "type",
        "ref",
        "free_var",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        ":",
        ".",
        "=",
        "=>",
        "->",
        "<",
        ">",
        "+",
        "-",
        "*",
        "/",
        "?",
        "_",
        "1",
        "2f",
        "-3i64",
        "True",
        '"s"',
        "add",
        "exp",
        "Tensor[(2,?),float32]",
        "meta[relay.Constant][0]",
        "#[metadata]",
        '#[version="0.0.5"]',
        "/*",
        "*/",
        "//",
        "\\",
        "@",
        "%",
        "",
    ]
    rng = random.Random(0)
    seeds = [
        "def @main(%x: Tensor[(2), float32]) -> float32 { let %y = add(%x, 1f); %0 = exp(%y); (%0, %y).0 }",
        "type L[A] { C(A, L[A]), N, } def @f[A](%l: L[A]) { match (%l) { C(%h, _) => %h, } }",
    ]
    for i in range(3000):
        if i % 2:
            text = " ".join(rng.choice(words) for _ in range(rng.randrange(1, 30)))
        else:
            chars = list(rng.choice(seeds))
            for _ in range(rng.randrange(1, 6)):
                at = rng.randrange(len(chars))
                chars[at : at + rng.randrange(3)] = rng.choice(["", chr(rng.randrange(32, 127)), rng.choice(words)])
            text = "".join(chars)
        for read in (tvm.parser.fromtext, lambda t: tvm.parser.fromtext(HEAD + t), tvm.parser.parse_expr):
            try:
                read(text)
            except (tvm.TVMError, AttributeError, TypeError, ValueError) as error:
                assert not isinstance(error, tvm.error.InternalError), (text, error)


def test_a_type_error_underlines_the_position():
    with pytest.raises(tvm.error.DiagnosticError) as raised:
        parsed("def @main(%x: Tensor[(3), float32], %y: Tensor[(4), float32]) {\n  %0 = exp(%x);\n  add(%0, %y)\n}")
    shown = str(raised.value).split("\n")
    at = next(i for i, line in enumerate(shown) if "from_string:" in line)
    assert "add(%0, %y)" in shown[at + 2]
    assert shown[at + 3].count("^") == len("add(%0, %y)")


def test_expressions_without_a_span_are_found():
    mod = parsed("def @main(%x: float32) { exp(%x) }")
    tvm.parser.SpanCheck()(mod)
    x = relay.var("x", shape=())
    with pytest.raises(tvm.error.DiagnosticError, match="has no position in a text"):
        tvm.parser.SpanCheck()(tvm.IRModule.from_expr(relay.Function([x], call("exp", x))))


def test_a_hundred_thousand_calls_are_compared_hashed_and_saved():
    def chain():
        x = relay.var("x", shape=(1,))
        e = x
        for _ in range(100_000):
            e = call("exp", e)
        return relay.Function([x], e)

    a, b = chain(), chain()
    assert tvm.ir.structural_equal(a, b)
    assert tvm.ir.structural_hash(a) == tvm.ir.structural_hash(b)
    assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(a)), a)
    assert len(relay.analysis.free_vars(a.body)) == 1


def test_nested_scopes_print_and_read_back():
    c = relay.var("c", shape=(), dtype="bool")
    e = relay.const(0)
    for i in range(300):
        e = relay.If(c, relay.const(i), e)
    text = str(relay.Function([c], e))
    assert tvm.ir.structural_equal(tvm.parser.parse_expr(text), relay.Function([c], e))


def test_a_polymorphic_function_is_a_value_of_any_of_its_types():
    mod = parsed(
        "def @id[A](%x: A) -> A { %x } def @main(%c: bool, %f: fn (int32) -> int32) { if (%c) { @id } else { %f } }"
    )
    assert str(mod["main"].ret_type) == "fn (int32) -> int32"


def test_a_let_inside_the_value_of_a_let_reads_back():
    x, a, b = relay.var("x", shape=(4,)), relay.var("a"), relay.var("b")
    inner = relay.Let(b, call("exp", x), call("add", call("exp", b), b))
    mod = relay_infer(tvm.IRModule.from_expr(relay.Function([x], relay.Let(a, inner, call("multiply", a, a)))))
    assert " = let %b" in str(mod)
    round_trip(mod)


def test_a_free_variable_without_a_type_has_none():
    import tessera

    expr = tessera.parser.parse_expr('#[version = "0.0.5"]\nfree_var %x;\nexp(%x)')
    assert expr.args[0].type_annotation is None
    tessera.ir.assert_structural_equal(expr, tessera.relay.exp(tessera.relay.var("x")), map_free_vars=True)


def test_devices_are_told_where_no_metadata_is_shown():
    x = relay.var("x", shape=(2,))
    text = relay.Function([x], relay.annotation.on_device(relay.exp(x), tvm.cpu(0))).astext(show_meta_data=False)
    assert "on_device(%0, virtual_device=VirtualDevice(device_type=1, virtual_device_id=0))" in text
    assert str(tvm.target.VirtualDevice(tvm.cpu(), memory_scope="global")) == (
        "VirtualDevice(device_type=1, virtual_device_id=0, memory_scope='global')"
    )
