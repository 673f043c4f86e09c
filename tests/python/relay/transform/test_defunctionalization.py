"""Programs without functions as values give the same answers as before."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay.prelude import Prelude
from tessera.relay.transform import Defunctionalization

LIST = "Cons(1, Cons(2, Cons(3, Nil)))"

# The body of main, a function of %n and %b, and of data types and functions before it.
PROGRAMS = {
    "map with a closure that captures": ("", f"@sum(@map(fn (%x: int32) -> int32 {{ add(%x, %n) }}, {LIST}))"),
    "two closures of one type": (
        "",
        f"let %f = fn (%x: int32) -> int32 {{ multiply(%x, %n) }};"
        f"let %g = fn (%x: int32) -> int32 {{ subtract(%x, 7) }};"
        f"@sum(@map(%f, @map(%g, {LIST})))",
    ),
    "a choice of functions": (
        "",
        "let %f = if (%b) { fn (%x: int32) -> int32 { add(%x, 1) } } else { fn (%x: int32) -> int32 { multiply(%x, 5) } };"
        "%f(%n)",
    ),
    "foldl": (
        "",
        f"@foldl(fn (%a: int32, %x: int32) -> int32 {{ add(multiply(%a, %n), %x) }}, 1, {LIST})",
    ),
    "foldr over functions": (
        "",
        "let %fs = Cons(fn (%x: int32) -> int32 { add(%x, %n) },"
        " Cons(fn (%x: int32) -> int32 { multiply(%x, 3) }, Nil));"
        "@foldr(fn (%f: fn (int32) -> int32, %acc: int32) -> int32 { %f(%acc) }, 2, %fs)",
    ),
    "compose": (
        "",
        "let %h = @compose(fn (%x: int32) -> int32 { add(%x, %n) }, fn (%x: int32) -> int32 { multiply(%x, 10) });"
        "%h(%h(4))",
    ),
    "iterate, with a polymorphic function as a value": (
        "",
        "@iterate(fn (%x: int32) -> int32 { multiply(%x, 2) }, %n)(3)",
    ),
    "a constructor as a value": (
        "",
        f"@length(@map(Some, {LIST}))",
    ),
    "a function that returns functions that return functions": (
        "def @curried(%a: int32) -> fn (int32) -> fn (int32) -> int32 {"
        " fn (%p: int32) -> fn (int32) -> int32 { fn (%q: int32) -> int32 { add(multiply(%a, %p), %q) } } }",
        "@curried(%n)(5)(7)",
    ),
    "a closure that calls itself": (
        "",
        "let %f = fn (%i: int32) -> int32 { if (equal(%i, 0)) { %n } else { add(%i, %f(subtract(%i, 1))) } }; %f(6)",
    ),
    "closures that capture closures": (
        "",
        "let %f = fn (%x: int32) -> int32 { add(%x, %n) };"
        "let %g = fn (%x: int32) -> int32 { multiply(%f(%x), %f(2)) };"
        f"@sum(@map(fn (%x: int32) -> int32 {{ %g(%f(%x)) }}, {LIST}))",
    ),
    "a local function of several types": (
        "",
        "let %twice = fn [A](%x: A) -> (A, A) { (%x, %x) };"
        "let %p = %twice(%n); let %q = %twice((%n, 4)); let %r = %q.1; add(%p.0, %r.1)",
    ),
    "a data type with functions in it": (
        "type Box[A] { Hold(fn (A) -> A, A), Empty }"
        "def @open[A](%box: Box[A], %or: A) -> A { match (%box) { Hold(%f, %x) => { %f(%x) }, Empty => { %or } } }",
        "add(@open(Hold(fn (%x: int32) -> int32 { add(%x, %n) }, 5), 0), @open(Empty, 9))",
    ),
    "a data type with functions that is its own field": (
        "type Chain { Link(fn (int32) -> int32, Chain), End }"
        "def @run(%c: Chain, %x: int32) -> int32 { match (%c) { Link(%f, %rest) => { @run(%rest, %f(%x)) }, End => { %x } } }",
        "@run(Link(fn (%x: int32) -> int32 { add(%x, %n) }, Link(fn (%x: int32) -> int32 { multiply(%x, %x) }, End)), 3)",
    ),
    "functions in tuples and references": (
        "",
        "let %r = ref(fn (%x: int32) -> int32 { add(%x, 1) });"
        "let %t = (ref_read(%r), 5);"
        "ref_write(%r, fn (%x: int32) -> int32 { multiply(%x, %n) });"
        "let %now = ref_read(%r);"
        "let %old = %t.0; add(%old(%t.1), %now(%t.1))",
    ),
    "flip and zip": (
        "",
        "let %f = @flip(fn (%a: int32, %c: int32) -> int32 { subtract(%a, %c) });"
        f"@sum(@map(fn (%p: (int32, int32)) -> int32 {{ %f(%p.0, %p.1) }}, @zip({LIST}, @rev({LIST}))))",
    ),
    "filter and unfold": (
        "",
        "@sum(@filter(fn (%x: int32) -> bool { less(%x, %n) },"
        " @unfoldl(fn (%i: int32) -> Option[(int32, int32)] { if (less(%i, 1)) { None } else { Some((subtract(%i, 1), %i)) } },"
        " 9)))",
    ),
    "what is shared is computed where it was": (
        "",
        "%0 = multiply(%n, 100); let %f = fn (%x: int32) -> int32 { add(%x, %0) }; add(%f(1), %0)",
    ),
    "a program of the first order": ("def @square(%x: int32) -> int32 { multiply(%x, %x) }", "@square(@square(%n))"),
}


def program(name):
    head, body = PROGRAMS[name]
    text = f'#[version = "0.0.5"]\n{head}\ndef @main(%n: int32, %b: bool) -> int32 {{ {body} }}\n'
    return relay.transform.InferType()(tessera.parser.parse(text, init_module=Prelude().mod))


def first_order(mod):
    """The module with the new main function, and only what that needs."""
    mod = tessera.IRModule(dict(mod.functions), dict(mod.type_definitions))
    mod["main"] = Defunctionalization(mod["main"], mod)
    return relay.transform.RemoveUnusedFunctions()(relay.transform.InferType()(mod))


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_the_same(name, kind):
    before = program(name)
    after = first_order(before)
    for n, b in [(4, True), (3, False)]:
        answers = [
            relay.create_executor(kind, mod, tessera.cpu(), "llvm").evaluate()(np.int32(n), np.bool_(b))
            for mod in (before, after)
        ]
        assert answers[0].numpy() == answers[1].numpy()


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_function_is_a_value(name):
    after = first_order(program(name))
    for function in after.functions.values():
        inside = []
        relay.analysis.post_order_visit(function.body, inside.append)
        for expr in inside:
            assert not isinstance(expr, relay.Function)
            if isinstance(expr, (relay.Var, relay.Call, relay.Tuple, relay.Let, relay.If, relay.Match)):
                assert "fn (" not in str(expr.checked_type)
            if isinstance(expr, relay.Call):
                assert not isinstance(expr.op, relay.Var)


def test_what_it_gives_reads_back():
    after = first_order(program("compose"))
    assert tessera.ir.structural_equal(tessera.parser.fromtext(after.astext()), after)


def test_functions_among_the_arguments_are_rejected():
    mod = tessera.parser.fromtext(
        '#[version = "0.0.5"]\ndef @main(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%x) }'
    )
    with pytest.raises(TypeError, match="without functions among its arguments"):
        Defunctionalization(mod["main"], mod)


def test_a_polymorphic_function_is_rejected():
    mod = tessera.parser.fromtext('#[version = "0.0.5"]\ndef @main[A](%x: A) -> A { %x }')
    with pytest.raises(TypeError, match="type parameters"):
        Defunctionalization(mod["main"], mod)


def test_a_function_of_ever_larger_types_is_rejected():
    mod = tessera.parser.fromtext(
        '#[version = "0.0.5"]\n'
        "def @f[A](%x: A, %n: int32) -> int32 { if (equal(%n, 0)) { 0 } else { @f((%x, %x), subtract(%n, 1)) } }\n"
        "def @main(%n: int32) -> int32 { @f(1, %n) }"
    )
    with pytest.raises(ValueError, match="ever larger types"):
        Defunctionalization(mod["main"], mod)
