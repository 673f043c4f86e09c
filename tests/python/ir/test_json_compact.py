"""Programs that older versions saved are read."""

import json

import pytest
import tessera as tvm
from tessera import relay

NOTHING = {"type_key": ""}


def load(version, *nodes):
    data = {"root": 1, "nodes": [NOTHING, *nodes], "b64ndarrays": [], "attrs": {"tvm_version": version}}
    return tvm.ir.load_json(json.dumps(data))


def node(key, **attrs):
    return {"type_key": key, "attrs": attrs} if attrs else {"type_key": key}


@pytest.mark.parametrize("key", ["TypeVar", "GlobalTypeVar"])
def test_type_variables_were_named_by_variables(key):
    out = load("0.6.0", node(f"relay.{key}", kind="0", span="0", var="2"), node("Variable", dtype="int32", name="in0"))
    assert isinstance(out, getattr(tvm.ir, key)) and out.name_hint == "in0"


@pytest.mark.parametrize("version", ["0.6.0", "0.7.0"])
def test_names_stood_in_their_fields(version):
    var = node("relay.Var", _checked_type_="0", span="0", type_annotation="0", vid="2")
    assert load(version, var, node("relay.Id", name_hint="a3")).name_hint == "a3"
    name = "relay.GlobalVar" if version == "0.6.0" else "GlobalVar"
    assert load(version, node(name, _checked_type_="0", name_hint="x", span="0")).name_hint == "x"


def test_types_had_other_names():
    assert isinstance(load("0.6.0", node("relay.IncompleteType", kind="0", span="0")), relay.ty.IncompleteType)
    function = node("relay.FuncType", arg_types="2", ret_type="3", span="0", type_constraints="2", type_params="2")
    out = load("0.6.0", function, node("Array"), node("relay.TupleType", fields="2", span="0"))
    assert out == relay.FuncType([], relay.TupleType([]))


def test_operators_had_keys():
    assert load("0.6.0", {"type_key": "relay.Op", "global_key": "nn.conv2d"}) == relay.op.get("nn.conv2d")


def test_variables_of_loops_had_other_names():
    out = load("0.6.0", node("Variable", dtype="int32", name="x"))
    assert isinstance(out, tvm.tir.Var) and (out.name, out.dtype) == ("x", "int32")
    assert isinstance(load("0.6.0", node("SizeVar", dtype="int32", name="n")), tvm.tir.SizeVar)


def test_maps_of_text_had_their_keys_beside():
    values = [node("Variable", dtype="int32", name=name) for name in ("x", "z")]
    out = load("0.6.0", {"type_key": "StrMap", "keys": ["z", "x"], "data": [2, 3]}, *values)
    assert out["z"].name == "x" and out["x"].name == "z"


def test_expressions_had_no_device_and_modules_no_attributes():
    var = node("relay.Var", _checked_type_="0", span="0", type_annotation="0", vid="5")
    function = node(
        "relay.Function", _checked_type_="0", attrs="0", body="3", params="2", ret_type="0", span="0", type_params="4"
    )
    text = {"type_key": "runtime.String", "repr_str": "x"}
    params = {"type_key": "Array", "data": [3]}
    out = load("0.8.0", function, params, var, node("Array"), node("relay.Id", name_hint="6"), text)
    assert isinstance(out, relay.Function) and out.params[0].name_hint == "x"
    names = ("functions", "global_type_var_map_", "global_var_map_", "type_definitions")
    mod = load(
        "0.9.0",
        node("IRModule", source_map="3", **dict.fromkeys(names, "2")),
        node("Map"),
        node("SourceMap", source_map="2"),
    )
    assert isinstance(mod, tvm.IRModule) and not mod.attrs


def test_text_of_this_version_stays_as_it_is():
    text = tvm.ir.save_json(relay.var("x", shape=(2,)))
    assert tvm.ir.json_compact.upgrade_json(text) is text
