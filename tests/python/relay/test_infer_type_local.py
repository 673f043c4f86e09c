"""The type of one expression."""

import pytest
import tessera
from tessera import relay
from tessera.relay.transform import InferTypeLocal


def test_the_expression_and_its_parts_know_their_types_then():
    x = relay.var("x", shape=(2, 3))
    inner = relay.abs(x)
    outer = relay.sum(inner, axis=1)
    with pytest.raises(ValueError):
        outer.checked_type
    assert InferTypeLocal(outer) == relay.TensorType((2,))
    assert outer.checked_type == relay.TensorType((2,))
    assert inner.checked_type == relay.TensorType((2, 3)) and x.checked_type == relay.TensorType((2, 3))


def test_calls_of_operators_know_the_types_of_their_arguments():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3,))
    fresh = relay.add(x, y)
    assert list(fresh.type_args) == []
    typed = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x, y], fresh)))["main"].body
    assert list(typed.type_args) == [relay.TensorType((2, 3)), relay.TensorType((3,))]
