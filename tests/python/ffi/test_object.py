"""Objects of the core in Python: classes by type key, attributes by the field table, identity."""

import copy
import gc
import pickle

import numpy as np
import pytest
import tessera
from hypothesis import given, settings
from hypothesis import strategies as st
from tessera import ir, tir
from tessera._ffi import get_object_type_index, register_object
from tessera._ffi.registry import get_global_func
from tessera.runtime import Object, ShapeTuple, String, convert

use_count = get_global_func("testing.object_use_count")
echo = get_global_func("testing.echo")


@pytest.fixture
def x():
    return tir.Var("x", "int32")


def test_fields_are_attributes(x):
    add = tir.Add(x, tir.const(1, "int32"))
    assert isinstance(add, tir.Add) and add.a.same_as(x)
    assert add.b.value == 1 and add.dtype == "int32"
    assert isinstance(x.name, String) and isinstance(x.name, str) and x.name == "x"
    assert {"a", "b", "dtype", "span"} <= set(dir(add))


def test_an_unknown_attribute_is_an_error_that_lists_the_fields(x):
    with pytest.raises(AttributeError, match=r"has no attribute nam; its fields are .*name"):
        x.nam


def test_equality_and_hash_are_by_identity(x):
    array = convert(["a"])
    assert array == echo(array) and hash(array) == hash(echo(array))
    assert array != convert(["a"]) and array != "a"
    assert {array: 1}[echo(array)] == 1


def test_objects_share_one_count(x):
    before = use_count(x)
    array = convert([x, x])
    assert use_count(x) == before + 2
    del array
    gc.collect()
    assert use_count(x) == before


def test_a_moved_object_may_be_taken_over(x):
    assert use_count(x._move()) == use_count(x)


def test_an_object_without_contents_is_rejected():
    with pytest.raises(ValueError, match="is empty"):
        echo(tir.Var.__new__(tir.Var))


def test_python_classes_are_found_by_the_nearest_registered_family():
    key = "tir.Var"
    original = tir.Var

    class MyVar(tir.Var):
        pass

    try:
        register_object(key)(MyVar)
        assert type(tir.Add(original("y", "int32"), 1).a) is MyVar
        assert type(tir.Add(tir.SizeVar("n", "int32"), 1).a) is tir.SizeVar
    finally:
        register_object(key)(original)
    assert type(tir.Add(original("y", "int32"), 1).a) is original


def test_a_class_of_the_wrong_family_is_rejected():
    with pytest.raises(TypeError, match=r"runtime\.NDArray has to derive from tessera\._ffi_core\.NDArrayBase"):
        register_object("runtime.NDArray")(Object)


def test_type_numbers_are_those_of_the_core():
    assert get_object_type_index(tir.Var) is not None
    assert get_object_type_index(tir.Var) != get_object_type_index(tir.Add)
    assert get_object_type_index(int) is None


def test_objects_can_be_pickled_and_copied(x):
    add = x + 1
    for again in (pickle.loads(pickle.dumps(add)), copy.deepcopy(add)):
        assert isinstance(again, tir.Add) and ir.structural_equal(again, add, map_free_vars=True)


def test_objects_can_carry_python_attributes(x):
    x.note = "mine"
    assert x.note == "mine"


def test_an_array_is_a_sequence():
    array = convert(["a", "b", "c"])
    assert isinstance(array, ir.Array) and len(array) == 3
    assert array[0] == "a" and array[-1] == "c" and array[1:] == ["b", "c"] and array[::-1] == ["c", "b", "a"]
    assert list(array) == ["a", "b", "c"] and "b" in array and "z" not in array
    assert list(array + convert(["d"])) == ["a", "b", "c", "d"]
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="size: 3"):
            array[wrong]


def test_a_map_is_a_mapping(x):
    mapping = convert({"a": 1, "b": [2, "three"], "none": None})
    assert isinstance(mapping, ir.Map) and len(mapping) == 3
    assert list(mapping) == list(mapping.keys()) == ["a", "b", "none"]
    assert mapping["a"].value == 1 and mapping["b"][1] == "three" and mapping["none"] is None
    assert mapping.get("z") is None and mapping.get("z", 5) == 5
    assert "a" in mapping and "z" not in mapping and object() not in mapping
    assert [key for key, _ in mapping.items()] == ["a", "b", "none"] and len(mapping.values()) == 3
    with pytest.raises(KeyError, match="z"):
        mapping["z"]
    by_object = convert({x: "found"})
    assert by_object[x] == "found" and x in by_object and tir.Var("x", "int32") not in by_object


def test_numbers_inside_containers_are_constants():
    array = convert([1, 2.5, True, 2**40])
    assert [item.dtype for item in array] == ["int32", "float32", "bool", "int64"]
    assert [item.value for item in array] == [1, 2.5, 1, 2**40]


def test_nested_python_values_are_converted_deeply():
    value = convert([{"a": [(1, 2), None]}, lambda: 7])
    assert value[0]["a"][0][1].value == 2 and value[0]["a"][1] is None and value[1]() == 7


def test_a_value_without_a_form_in_the_core_is_rejected():
    with pytest.raises(TypeError, match="Don't know how to handle type"):
        convert([object()])
    with pytest.raises(TypeError, match="None cannot be a key"):
        convert({None: 1})


def test_objects_stand_for_others_through_asobject(x):
    class Stand(tessera.runtime.ObjectGeneric):
        def asobject(self):
            return x

    assert echo(Stand()).same_as(x)
    assert convert([Stand()])[0].same_as(x)
    assert convert(Stand()).same_as(x)


def test_text_made_by_functions_is_a_plain_str(x):
    for text in (repr(x), str(x), echo("a"), echo(String("a")), ir.save_json(x)):
        assert type(text) is str
    assert type(x.name) is String


def test_strings_are_str():
    text = convert("abc")
    assert isinstance(text, String) and text == "abc" and text + "d" == "abcd" and {text: 1}["abc"] == 1
    assert pickle.loads(pickle.dumps(text)) == "abc"


def test_shapes_are_sequences_equal_by_value():
    shape = ShapeTuple([1, 2, 3])
    assert len(shape) == 3 and shape[-1] == 3 and list(shape) == [1, 2, 3]
    assert shape == ShapeTuple([1, 2, 3]) and shape == (1, 2, 3) and shape != [1, 2]
    assert str(shape) == "[1, 2, 3]"
    with pytest.raises(IndexError):
        shape[3]


def test_tagged_tuples_hold_objects():
    tuple_ = tessera.runtime.container.ADT(3, [tessera.nd.array([1.0]), tessera.runtime.tuple_object([])])
    assert tuple_.tag == 3 and len(tuple_) == 2 and tuple_[0].numpy()[0] == 1.0 and len(tuple_[1]) == 0


def test_extension_classes_travel_by_their_handle():
    class Extension:
        _tvm_tcode = 17

        def __init__(self, handle):
            self._tvm_handle = handle

    tessera.register_extension(Extension, Extension)
    back = echo(Extension(0x1234))
    assert isinstance(back, Extension) and back._tvm_handle == 0x1234


def test_functions_are_called_through_the_c_border():
    import ctypes

    from tessera._ffi.base import _LIB

    handle = ctypes.c_void_p()
    assert _LIB.TVMFuncGetGlobal(b"testing.echo", ctypes.byref(handle)) == 0
    for function in (handle, echo.handle):
        value, code, result, result_code = ctypes.c_int64(42), ctypes.c_int(0), ctypes.c_int64(), ctypes.c_int(-1)
        references = [ctypes.byref(each) for each in (value, code)]
        assert _LIB.TVMFuncCall(function, *references, 1, ctypes.byref(result), ctypes.byref(result_code)) == 0
        assert (result.value, result_code.value) == (42, 0)


def test_a_container_without_end_is_an_error_and_not_a_crash():
    endless: list = []
    endless.append(endless)
    deep: list = []
    for _ in range(100000):
        deep = [deep]
    for value in (endless, deep, {"a": endless}):
        with pytest.raises(RecursionError):
            convert(value)


def test_nothing_is_left_behind_by_calls(x):
    """Counts of Python objects and of the core's stay the same however often values cross the border."""
    import sys

    marker = ["a", {"b": 1}, None]
    before = use_count(x), sys.getrefcount(marker), sys.getrefcount(String)
    for _ in range(1000):
        echo(x)
        echo([x, marker])
        echo({"k": x})
        convert(lambda: x)()
        with pytest.raises(AttributeError):
            x.nonesuch
        with pytest.raises(TypeError):
            echo([object()])
    gc.collect()
    assert (use_count(x), sys.getrefcount(marker), sys.getrefcount(String)) == before


def test_numpy_scalars_inside_containers_keep_their_type():
    values = [np.int64(1), np.float64(0.5), np.int8(2), np.bool_(True), np.float32(3)]
    assert [item.dtype for item in convert(values)] == ["int64", "float64", "int8", "bool", "float32"]
    assert convert(np.int64(1)).dtype == "int64"
    assert convert([tessera.DataType("int8"), b"ab"])[0] == "int8"


json_like = st.recursive(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


def as_python(value):
    if isinstance(value, ir.Array):
        return [as_python(item) for item in value]
    if isinstance(value, ir.Map):
        return {str(key): as_python(item) for key, item in value.items()}
    return value.value if isinstance(value, tir.IntImm) else value


@given(json_like)
@settings(max_examples=200, deadline=None)
def test_nested_values_come_back_equal(value):
    assert as_python(echo([value])) == [value]


def test_a_property_raises_its_own_error():
    class Odd(tir.Var):
        @property
        def broken(self):
            raise AttributeError("the property's own words")

    with pytest.raises(AttributeError, match="own words"):
        Odd("x", "int32").broken


def test_a_field_can_be_read_past_the_class(x):
    class Named(tir.Var):
        @property
        def name(self):
            return "other"

    var = Named("x", "int32")
    assert var.name == "other" and var._field("name") == "x"
    with pytest.raises(AttributeError, match="its fields are"):
        var._field("nonesuch")


def test_attributes_list_their_fields():
    fields = tessera.relay.sum(tessera.relay.var("x", shape=(2,)), axis=0, keepdims=True).attrs.list_field_info()
    assert [field.name for field in fields] == ["axis", "keepdims", "exclude"]
    assert [field.type_info for field in fields] == ["Array", "int", "int"]
