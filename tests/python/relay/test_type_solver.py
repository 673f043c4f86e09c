"""The type solver by itself: what two types have in common, and relations between types."""

import pytest
import tessera
from tessera import relay
from tessera.relay.ty import FuncType, IncompleteType, TensorType, TupleType, TypeRelation, TypeVar

A, B, C, D = (TypeVar(name) for name in "abcd")


@pytest.fixture
def solver():
    return relay.analysis._ffi_api._test_type_solver()


def tensor(*shape):
    return TensorType(shape, "float32")


def relate(solver, name, inputs, output=None):
    output = output or IncompleteType()
    function = tessera.ir.EnvFunc.get(f"tvm.relay.type_relation.{name}")
    solver("AddConstraint")(TypeRelation(function, [*inputs, output], len(inputs), None))
    return output


def test_results_of_relations_are_known_once_their_inputs_are(solver):
    unknown = IncompleteType()
    total = relate(solver, "Broadcast", [tensor(10, 20), unknown])
    assert not solver("Solve")()
    relate(solver, "Identity", [unknown], tensor(10, 1, 1))
    assert solver("Solve")()
    assert solver("Resolve")(total) == tensor(10, 10, 20)


def test_identity_goes_both_ways_into_parts_of_types(solver):
    one, two, three = IncompleteType(), IncompleteType(), IncompleteType()
    first = relate(solver, "Identity", [TupleType([one, two])])
    second = relate(solver, "Identity", [TupleType([one, three])])
    relate(solver, "Identity", [first], second)
    relate(solver, "Identity", [one], tensor(1))
    relate(solver, "Identity", [three], tensor(3))
    assert solver("Solve")()
    assert solver("Resolve")(first) == TupleType([tensor(1), tensor(3)])


@pytest.mark.parametrize(
    "more, fewer",
    [
        (FuncType([A, B], C, [A, B, C]), FuncType([A, A], A, [A])),
        (FuncType([A], B, [A, B]), FuncType([B], TupleType([]), [B])),
        (FuncType([A], B, [A, B]), FuncType([tensor(1)], tensor(2))),
    ],
)
def test_a_function_of_more_type_parameters_is_used_as_one_of_fewer(solver, more, fewer):
    assert solver("Unify")(more, fewer) == fewer
    assert solver("Unify")(fewer, more) == fewer


@pytest.mark.parametrize(
    "one, other",
    [
        (TupleType([tensor(1)]), TupleType([tensor(2)])),
        (relay.GlobalTypeVar("one"), relay.GlobalTypeVar("other")),
        (FuncType([A, B], C, [A, B, C]), FuncType([B, C], TupleType([A]), [A, B, C])),
        (FuncType([A], A, [A]), FuncType([B], tensor(1), [B])),
    ],
)
def test_types_that_differ_are_told(solver, one, other):
    with pytest.raises(tessera.error.DiagnosticError, match="differ"):
        solver("Unify")(one, other)


def test_no_type_contains_itself(solver):
    unknown = IncompleteType()
    with pytest.raises(tessera.error.DiagnosticError, match="a type would contain itself"):
        solver("Unify")(unknown, TupleType([unknown]))


def test_what_is_no_relation_is_rejected(solver):
    with pytest.raises(TypeError, match="a constraint is a TypeRelation"):
        solver("AddConstraint")(TypeRelation(None, [tensor(1)], 1, None))
    with pytest.raises(ValueError, match="not Ask"):
        solver("Ask")
