"""Pieces of the parser of hybrid scripts: variables, functions by name, tensors replaced."""

import ast

import pytest
import tessera
from tessera import te, tir
from tessera.te.hybrid import calls, preprocessor, utils


def usage(source, args=("a",)):
    (function,) = ast.parse(source).body
    return preprocessor.determine_variable_usage(function, args, {"range": None}, {})


def test_where_variables_are_made():
    status = usage("def f(a):\n    b = a\n    for i in range(3):\n        c = b\n        b += i\n")
    assert set(status) == {"b", "c"}
    assert isinstance(status["b"][1], ast.FunctionDef) and isinstance(status["c"][1], ast.For)
    assert ast.Load in status["b"][2]


@pytest.mark.parametrize(
    "source, message",
    [
        ("def f(a):\n    b = c\n", "read before it is written"),
        ("def f(a):\n    for i in range(3):\n        b = a\n    c = b\n", "outside of the loop"),
        ("def f(a, b):\n    pass\n", "has 2 parameters, but 1 arguments"),
    ],
)
def test_scripts_that_cannot_be(source, message):
    with pytest.raises(ValueError, match=message):
        usage(source)


def test_functions_by_name():
    assert int(calls.ceil_div("ceil_div", (tir.const(7, "int32"), tir.const(2, "int32")))) == 4
    assert int(calls.len("len", (te.placeholder((5, 3)),))) == 5
    assert float(calls.ninf("ninf", ("float32",))) < -1e38
    with tessera.target.Target("cuda"):
        assert int(calls.max_num_threads("max_num_threads", ())) == 1024


def test_docstrings_and_replaced_tensors():
    assert utils.is_docstring(ast.parse("'text'").body[0]) and not utils.is_docstring(ast.parse("x = 'text'").body[0])
    old, new = (te.placeholder((4,), name=name) for name in ("old", "new"))
    body = tir.ProducerStore(old, tir.ProducerLoad(old, [0]) + 1.0, [1])
    out = utils.replace_io(body, {old.op: new.op})
    assert out.producer.op.name == "new" and "old" not in str(out)
