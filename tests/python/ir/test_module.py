"""Modules, types, operators and ranges."""

import pytest
import tessera
from tessera import ir, tir


def func(value=0):
    return tir.PrimFunc([], tir.Evaluate(value))


def test_functions_by_name_and_by_global():
    f, g = func(1), func(2)
    mod = tessera.IRModule({"f": f})
    mod["g"] = g
    assert mod["f"].same_as(f) and mod[mod.get_global_var("g")].same_as(g)
    assert sorted(v.name_hint for v in mod.get_global_vars()) == ["f", "g"]
    assert "f" in mod and "h" not in mod
    with pytest.raises(ValueError, match='no function "h" in the module; it has f, g'):
        mod["h"]
    with pytest.raises(ValueError, match="belongs to the GlobalVar"):
        mod[ir.GlobalVar("f")]


def test_a_change_is_seen_by_all_holders():
    mod = tessera.IRModule({"f": func(1)})
    other = mod
    replaced = func(2)
    other.update_func(mod.get_global_var("f"), replaced)
    assert mod["f"].same_as(replaced)
    mod.update(tessera.IRModule({"f": func(3), "g": func(4)}))
    assert mod["f"].body.value.value == 3 and len(mod.get_global_vars()) == 2
    del mod["g"]
    assert "g" not in mod


def test_attributes_of_a_module_are_a_copys():
    mod = tessera.IRModule({"f": func()})
    named = mod.with_attr("name", "m")
    assert named.get_attr("name") == "m" and mod.get_attr("name") is None


def test_from_expr_takes_the_name_of_the_function():
    assert "main" in ir.IRModule.from_expr(func())
    assert "f" in ir.IRModule.from_expr(func().with_attr("global_symbol", "f"))


def test_types_are_equal_by_structure():
    assert ir.PrimType("int32") == ir.PrimType("int32") != ir.PrimType("int64")
    assert ir.PointerType(ir.PrimType("int32"), "shared") == ir.PointerType(ir.PrimType("int32"), "shared")
    assert hash(ir.PrimType("int8")) == hash(ir.PrimType("int8"))


def test_ranges():
    x = tir.Var("x", "int32")
    assert repr(ir.Range(5)) == "range(min=0, ext=5)"
    assert repr(ir.Range(x, x + 4)) == "range(min=x, ext=((x + 4) - x))"
    assert repr(ir.Range.from_min_extent(2, 8)) == "range(min=2, ext=8)"


def test_operators_have_slots():
    op = ir.Op.get("tir.exp")
    assert op.same_as(ir.Op.get("tir.exp")) and op.num_inputs == 1
    assert op.get_attr("TCallEffectKind") == 1 and op.get_attr("TScriptPrinterName") == "exp"
    assert op.get_attr("NoSuchSlot") is None and not op.has_attr("NoSuchSlot")
    op.set_attr("TestSlot", 5)
    op.set_attr("TestSlot", 6, plevel=11)
    op.set_attr("TestSlot", 7, plevel=5)
    assert op.get_attr("TestSlot") == 6
    with pytest.raises(ValueError, match="set already at level 11"):
        op.set_attr("TestSlot", 8, plevel=11)
    op.reset_attr("TestSlot")
    assert not op.has_attr("TestSlot")
    with pytest.raises(AttributeError, match=r'no operator "tir\.nothing"'):
        ir.Op.get("tir.nothing")


def test_an_operator_names_its_arguments_and_the_type_of_its_attributes():
    op = tessera.get_global_func("ir.RegisterOp")("test.with_arguments", "adds two things")
    assert list(op.arguments) == [] and op.attrs_type_key == "" and op.op_type is None
    op.add_argument("data", "Tensor", "what is added to")
    op.add_argument("bias", "Tensor", "what is added")
    op.set_attrs_type_key("DictAttrs")
    assert [(a.name, a.type_info, a.description) for a in ir.Op.get("test.with_arguments").arguments] == [
        ("data", "Tensor", "what is added to"),
        ("bias", "Tensor", "what is added"),
    ]
    assert op.attrs_type_key == "DictAttrs" and op.description == "adds two things"


def test_the_table_of_operators_is_that_of_v0_10():
    """Names, numbers of inputs and effects of a sample of the table in tests/golden."""
    expected = {
        "tir.likely": (1, 0, 1),
        "tir.if_then_else": (3, 1, None),
        "tir.tvm_access_ptr": (5, 4, None),
        "tir.tvm_tuple": (-1, 5, None),
        "tir.ret": (1, 6, None),
        "tir.tvm_struct_get": (3, 2, None),
        "tir.tvm_struct_set": (4, 3, None),
        "tir.texture2d_load": (-1, 3, 1),
    }
    for name, (inputs, effect, vectorizable) in expected.items():
        op = ir.Op.get(name)
        got = (op.num_inputs, op.get_attr("TCallEffectKind"), op.get_attr("TVectorizable"))
        assert got == (inputs, effect, vectorizable), name
