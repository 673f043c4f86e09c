"""Parts of scripts as plain functions and classes: values, slices and types outside a parser."""

import pytest
import tessera as tvm
from tessera import tir
from tessera.script.tir import intrin, ty
from tessera.script.tir.node import BufferSlice, Slice
from tessera.script.utils import call_with_error_reporting, get_param_list

x = tir.Var("x", "int32")


@pytest.mark.parametrize(
    "value, text",
    [
        (intrin.floordiv(x, 4), "floordiv(x, 4)"),
        (intrin.floormod(x, 4), "floormod(x, 4)"),
        (intrin.truncdiv(x, 4), "(x/4)"),
        (intrin.truncmod(x, 4), "(x % 4)"),
        (intrin.cast(x, "float32"), "float32(x)"),
        (intrin.ramp(x, 1, 4), "ramp(x, 1, 4)"),
        (intrin.broadcast(x, 4), "x4(x)"),
        (intrin.max(x, 3), "max(x, 3)"),
        (intrin.min(x, 3), "min(x, 3)"),
        (intrin.Select(x < 3, x, 1), "select((x < 3), x, 1)"),
        (intrin.bool(1), "(bool)1"),
        (intrin.max_value("int8"), "(int8)127"),
        (intrin.min_value("int8"), "(int8)-128"),
    ],
)
def test_values(value, text):
    assert repr(value) == text


def test_a_load_of_bare_memory():
    pointer = tir.Var("p", tvm.ir.PointerType(tvm.ir.PrimType("float32")))
    load = intrin.load("float32", pointer, x)
    assert load.buffer.data.same_as(pointer)
    assert (load.dtype, repr(load.indices[0])) == ("float32", "x")
    with pytest.raises(ValueError, match="a predicate is not taken"):
        intrin.load("float32", pointer, x, x < 3)


def test_axes():
    axes = [
        intrin.get_axis(0, 4, "data_parallel"),
        intrin.reduce_axis(0, 4),
        intrin.scan_axis(0, 4),
        intrin.opaque_axis(0, 4),
    ]
    assert [axis.iter_type for axis in axes] == [0, 2, 3, 4]
    assert intrin.iter_var(x, intrin.range(2, 6), "DataPar", "").dom.extent == 4
    with pytest.raises(ValueError, match='not "sideways"'):
        intrin.get_axis(0, 4, "sideways")


def test_a_combiner_of_parameters_and_results():
    a, b = tir.Var("a", "float32"), tir.Var("b", "float32")
    adds = intrin.comm_reducer(([a, b], [a + b]), [tir.const(0.0)])
    assert tvm.ir.structural_equal(adds.result[0], a + b)


def test_slices_are_vectors_loads_and_regions():
    A = tir.decl_buffer((16, 16), name="A")

    def fail(message, _):
        raise ValueError(message)

    part = BufferSlice(A, [x, Slice(0, 8)], fail)
    assert str(part).startswith("A[x")
    assert part.asobject().dtype == "float32x8"
    assert part.astype("int32x8").dtype == "int32x8"
    assert [r.extent.value for r in part.as_buffer_region().region] == [1, 8]
    assert part.dtype == "float32"
    with pytest.raises(ValueError, match="has 2 dimensions, not 1"):
        BufferSlice(A, [x], fail)
    with pytest.raises(ValueError, match="a constant length"):
        Slice(0, x).as_index_expr(fail)


def test_types():
    assert ty.ConcreteType("int32").evaluate() == tvm.ir.PrimType("int32")
    assert ty.VoidType().evaluate() == tvm.ir.TupleType([])
    pointer = ty.GenericPtrType()[ty.ConcreteType("float32"), "shared"].evaluate()
    assert (pointer.element_type.dtype, pointer.storage_scope) == ("float32", "shared")
    assert len(ty.GenericTupleType()[ty.ConcreteType("int32"), ty.ConcreteType("handle")].evaluate().fields) == 2
    with pytest.raises(TypeError, match="no type before"):
        ty.GenericPtrType().evaluate()


def test_parameters_of_functions():
    def f(a, b, *rest, c=1):
        pass

    assert get_param_list(f) == (["a", "b"], [("c", 1)], "rest")
    assert call_with_error_reporting(None, None, divmod, 7, 2) == (3, 1)
    with pytest.raises(RuntimeError, match="at line 3: .*zero"):
        call_with_error_reporting(
            lambda m, at: (_ for _ in ()).throw(RuntimeError(f"at {at}: {m}")), "line 3", divmod, 1, 0
        )
