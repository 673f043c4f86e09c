"""Buffers: defaults, pointers into them, loads and stores."""

import pytest
from tessera import tir
from tessera._ffi import TVMError
from tessera.ir import structural_equal

x = tir.Var("x", "int32")
n = tir.SizeVar("n", "int32")


def test_defaults():
    A = tir.decl_buffer((n, 16), "float32", name="A")
    assert (A.dtype, A.scope(), A.data_alignment, A.offset_factor, A.buffer_type) == ("float32", "global", 64, 1, 1)
    assert A.elem_offset.value == 0 and len(A.strides) == 0 and A.data.name == "A"


def test_an_offset_factor_makes_the_offset_a_variable():
    A = tir.decl_buffer((n,), "float32", name="A", offset_factor=8)
    assert isinstance(A.elem_offset, tir.Var) and A.elem_offset.name == "A_elem_offset"
    assert A.offset_factor == 8


def test_auto_broadcast_gives_every_dimension_a_stride():
    A = tir.decl_buffer((n, 4), buffer_type="auto_broadcast")
    assert [s.name for s in A.strides] == ["stride", "stride"]


def test_a_bool_buffer_is_stored_in_bytes():
    A = tir.decl_buffer((4,), "bool")
    assert A.dtype == "bool" and A.data.type_annotation.element_type.dtype == "int8"


def test_access_ptr():
    A = tir.decl_buffer((16, n), "float32", name="A")
    assert repr(A.access_ptr("r")) == "tir.tvm_access_ptr(tir.type_annotation(), A, 0, (16*{n|n>=0}), 1)"
    assert repr(A.access_ptr("rw", offset=x)).endswith("A, x, ((16*{n|n>=0}) - x), 3)")
    assert repr(A.access_ptr("w", content_lanes=4)).endswith("A, 0, ((16*{n|n>=0})/4), 2)")
    assert repr(A.access_ptr("w", extent=7)).endswith("A, 0, 7, 2)")
    with pytest.raises(ValueError, match="made of 'r' and 'w'"):
        A.access_ptr("x")


def test_vector_loads_and_stores_lie_along_the_last_dimension():
    A = tir.decl_buffer((16, 16), "float32", name="A")
    assert repr(A.vload([x, 4], "float32x4")) == "A[x, ramp(4, 1, 4)]"
    assert A.vload([x, 4]).dtype == "float32"
    store = A.vstore([x, 4], tir.Broadcast(tir.const(1.0), 4))
    assert repr(store).strip() == "A[x, ramp(4, 1, 4)] = x4(1f)"
    with pytest.raises(TVMError, match="holds float32, which does not make up int32x4"):
        A.vload([x, 4], "int32x4")


def test_elements_by_index():
    A = tir.decl_buffer((16, 16), "float32", name="A")
    assert repr(A[x, 3]) == "A[x, 3]"
    assert repr(A[x, 0:8:2]) == "A[x, ramp(0, 2, 4)]"
    region = A[0:8, x]
    assert isinstance(region, tir.BufferRegion)
    assert [repr(r) for r in region.region] == ["range(min=0, ext=8)", "range(min=x, ext=1)"]


def test_offsets_and_the_flat_view():
    A = tir.decl_buffer((16, n, 4), "float32", name="A")
    assert repr(A.offset_of([1, x, 2])) == "[((({n|n>=0}*4) + (x*4)) + 2)]"
    assert repr(A.get_flattened_buffer().shape) == "[((16*{n|n>=0})*4)]"
    with pytest.raises(TVMError, match="A has 3 dimensions, but 1 indices were given"):
        A.offset_of([x])
    B = tir.decl_buffer((4, 8), "float32", strides=[16, 1], elem_offset=100)
    assert [int(e) for e in B.offset_of([1, 2])] == [118]
    C = tir.decl_buffer((4, 8, 2), "float32", axis_separators=[1])
    assert [int(e) for e in C.offset_of([1, 2, 1])] == [1, 5]
    assert [int(e) for e in C.get_flattened_buffer().shape] == [4, 16]


def test_offsets_of_one_element_are_equal_however_it_is_reached():
    rows, n, k, part = (tir.SizeVar(name, "int32") for name in ("rows", "n", "k", "part"))
    inner = tir.floormod(k, tir.floordiv(n, part))
    A = tir.decl_buffer((rows, n))
    reached = A.offset_of((tir.floordiv(inner, n), tir.floormod(inner, n) + tir.floormod(k, n)))
    assert structural_equal(reached, A.offset_of((0, tir.floormod(k, n) + inner)))
