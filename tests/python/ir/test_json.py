"""Saved programs are read back: every operator's attributes and the spans of its calls are values of their own."""

import contextlib

import numpy as np
import pytest
import tessera
from tessera import relay

SPAN = relay.Span(relay.SourceName("model"), 1, 2, 3, 4)


def attrs_of_operators():
    """The attributes of all operators, by their types, where none must be given."""
    keys = {tessera.ir.Op.get(name).attrs_type_key for name in tessera.ir.Op.list_op_names()}
    out = {}
    for key in sorted(key for key in keys if key.startswith("relay.attrs.")):
        with contextlib.suppress(tessera.TVMError, TypeError, ValueError):
            out[key] = tessera.ir.make_node(key)
    return out


def test_attributes_of_operators_are_read_back():
    attrs = attrs_of_operators()
    assert len(attrs) > 80
    for key, value in attrs.items():
        again = tessera.ir.load_json(tessera.ir.save_json(value))
        assert type(again) is type(value) and tessera.ir.structural_equal(again, value), key


@pytest.mark.parametrize("reduce", [relay.sum, relay.mean, relay.max, relay.argmax, relay.variance])
def test_a_program_of_a_reduction_is_read_back(reduce):
    x = relay.var("x", shape=(2, 3))
    mod = tessera.IRModule.from_expr(reduce(x, axis=1))
    tessera.ir.assert_structural_equal(tessera.ir.load_json(tessera.ir.save_json(mod)), mod)


def test_spans_are_read_back():
    again = tessera.ir.load_json(tessera.ir.save_json(relay.Var("x", span=SPAN)))
    assert (again.span.line, again.span.end_line, again.span.column, again.span.end_column) == (1, 2, 3, 4)
    assert again.span.source_name.name == "model"


def test_families_of_expressions_are_no_nodes():
    text = tessera.ir.save_json(tessera.tir.const(np.int32(1)))
    with pytest.raises(tessera.TVMError, match="cannot be loaded: PrimExpr"):
        tessera.ir.load_json(text.replace('"IntImm"', '"PrimExpr"'))
