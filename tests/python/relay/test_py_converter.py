"""Relay programs as Python programs."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay.backend.interpreter import ConstructorValue, RefValue
from tessera.relay.prelude import Prelude
from tessera.relay.testing import run_as_python, to_python
from tessera.runtime.container import ADT

sys.path.insert(0, str(Path(__file__).parent / "transform"))
from test_defunctionalization import PROGRAMS, program


def parsed(text):
    return tessera.parser.parse(f'#[version = "0.0.5"]\n{text}\n', init_module=Prelude().mod)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_the_interpreter_gives(name):
    mod = program(name)
    want = relay.create_executor("debug", mod, tessera.cpu(), "llvm").evaluate()(np.int32(4), np.bool_(True))
    got = run_as_python(mod["main"], mod)(np.int32(4), np.bool_(True))
    assert got.numpy() == want.numpy()


@pytest.mark.parametrize(
    "value", [1, 2.5, True, [1.0, float("inf"), float("nan")], np.arange(24).reshape(2, 3, 4), np.zeros((0, 2), "int8")]
)
def test_a_constant_is_itself(value):
    constant = relay.const(value)
    got = run_as_python(constant)
    assert got.dtype == constant.data.dtype
    np.testing.assert_array_equal(got.numpy(), constant.data.numpy())


def test_tuples_are_adts():
    assert len(run_as_python(relay.Tuple([]))) == 0
    got = run_as_python(relay.Tuple([relay.const(1), relay.Tuple([relay.const(2.0), relay.const(3)])]))
    assert isinstance(got, ADT) and isinstance(got[1], ADT)
    assert (got[0].numpy(), got[1][0].numpy(), got[1][1].numpy()) == (1, 2.0, 3)
    assert run_as_python(relay.TupleGetItem(relay.Tuple([relay.const(1), relay.const(7)]), 1)).numpy() == 7


def test_operators_take_and_give_tuples():
    x = relay.const(np.arange(6, dtype="float32"))
    parts = relay.split(x, 3)
    got = run_as_python(relay.concatenate([parts[2], parts[0] + parts[1]], axis=0))
    np.testing.assert_array_equal(got.numpy(), [4, 5, 2, 4])


def test_shapes_may_be_known_only_at_run_time():
    x = relay.var("x", shape=(relay.Any(), 2))
    double = run_as_python(relay.Function([x], relay.concatenate([x, x * relay.const(2.0)], axis=0)))
    for n in (1, 3):
        data = np.random.default_rng(0).uniform(size=(n, 2)).astype("float32")
        np.testing.assert_array_equal(double(data).numpy(), np.concatenate([data, data * 2]))


def test_a_value_of_a_data_type_has_its_tag_and_fields():
    mod = parsed("def @pair() -> List[int32] { Cons(1, Nil) }")
    got = run_as_python(mod.get_global_var("pair"), mod)()
    cons, nil = (next(c for c in mod.get_type("List")[1:] if c.name_hint == name) for name in ("Cons", "Nil"))
    assert isinstance(got, ConstructorValue)
    assert got.tag == cons.tag and got.fields[0].numpy() == 1
    assert isinstance(got.fields[1], ConstructorValue) and got.fields[1].tag == nil.tag


def test_values_of_data_types_can_be_given_back():
    mod = parsed("def @count(%n: int32) -> List[int32] { @map(fn (%x: int32) -> int32 { add(%x, %n) }, Cons(1, Nil)) }")
    made = run_as_python(mod.get_global_var("count"), mod)(5)
    assert run_as_python(mod.get_global_var("sum"), mod)(made).numpy() == 6


def test_references_are_written_in_order():
    mod = parsed(
        "def @main() -> (int32, int32) { let %r = ref(1); let %a = ref_read(%r);"
        " ref_write(%r, add(%a, 41)); (%a, ref_read(%r)) }"
    )
    got = run_as_python(mod["main"], mod)()
    assert (got[0].numpy(), got[1].numpy()) == (1, 42)
    held = run_as_python(relay.RefCreate(relay.const(3)))
    assert isinstance(held, RefValue) and held.value.numpy() == 3


def test_a_branch_that_is_not_taken_does_not_run():
    x = relay.var("x", relay.scalar_type("bool"))
    ref = relay.var("r")
    write = relay.Let(relay.var("_"), relay.RefWrite(ref, relay.const(9)), relay.const(0))
    body = relay.Let(relay.var("__"), relay.If(x, write, relay.const(0)), relay.RefRead(ref))
    f = run_as_python(relay.Function([x], relay.Let(ref, relay.RefCreate(relay.const(1)), body)))
    assert (f(np.bool_(True)).numpy(), f(np.bool_(False)).numpy()) == (9, 1)


def test_fused_functions_are_operators():
    x = relay.var("x", shape=(3,))
    mod = tessera.IRModule.from_expr(relay.Function([x], relay.exp(x) + relay.const(1.0)))
    fused = relay.transform.FuseOps(2)(relay.transform.InferType()(mod))
    assert "Primitive" in fused.astext()
    got = run_as_python(fused["main"], fused)(np.zeros(3, "float32"))
    np.testing.assert_array_equal(got.numpy(), [2, 2, 2])


def test_the_program_is_text_that_runs_by_itself():
    x = relay.var("for", shape=(2,))
    tree = to_python(relay.Function([x], relay.nn.relu(x)))
    assert isinstance(tree, ast.Module)
    space = {}
    exec(ast.unparse(tree), space)
    np.testing.assert_array_equal(space["_py_out"](np.array([-1, 2], "float32")).numpy(), [0, 2])


def test_a_match_that_nothing_fits_is_an_error():
    mod = parsed("def @main() -> int32 { @hd(Nil) }")
    with pytest.raises(ValueError, match="no clause"):
        run_as_python(mod["main"], mod)()


def test_a_free_variable_is_an_error():
    with pytest.raises(ValueError, match="nobody binds: y"):
        run_as_python(relay.var("y", shape=(2,)))
