"""The type of one expression."""

import pytest
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
