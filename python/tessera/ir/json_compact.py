"""Programs that v0.6 to v0.9 saved as JSON, rewritten so that `load_json` reads them.

Each version has a table from the type of a node to what changed in it; a file goes through the tables of all versions after its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

__all__ = ["create_updater", "upgrade_json"]

_Nodes = list[dict[str, Any]]
_Change = Callable[[dict[str, Any], _Nodes], dict[str, Any]]


def create_updater(node_map: dict[str, Any], from_ver: str, to_ver: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that applies `node_map`, from type keys to one change or several, to the parsed text of a version.

    A change takes a node and all nodes and gives the node. `from_ver` is the beginning of the version's name.
    """

    def update(data: dict[str, Any]) -> dict[str, Any]:
        version = data["attrs"]["tvm_version"]
        if not version.startswith(from_ver):
            raise ValueError(f"expected a file of version {from_ver}, but it is of {version}")
        nodes = data["nodes"]
        for index in range(len(nodes)):  # changes may put nodes behind these
            changes = node_map.get(nodes[index]["type_key"], [])
            for change in changes if isinstance(changes, list) else [changes]:
                nodes[index] = change(nodes[index], nodes)
        data["attrs"]["tvm_version"] = to_ver
        return data

    return update


def _rename(key: str) -> _Change:
    def change(node: dict[str, Any], nodes: _Nodes) -> dict[str, Any]:
        del nodes
        node["type_key"] = key
        return node

    return change


def _text(node: dict[str, Any], nodes: _Nodes, field: str, value: str) -> None:
    nodes.append({"type_key": "runtime.String", "repr_str": value})
    node["attrs"][field] = str(len(nodes) - 1)


def _as_string(field: str) -> _Change:
    """Text that stood in a field itself is a node of its own."""

    def change(node: dict[str, Any], nodes: _Nodes) -> dict[str, Any]:
        if field in node.get("attrs", {}):
            _text(node, nodes, field, node["attrs"][field])
        return node

    return change


def _name_of_variable(node: dict[str, Any], nodes: _Nodes) -> dict[str, Any]:
    """Type variables were named by a variable of TIR."""
    if "var" in node["attrs"]:
        variable = nodes[int(node["attrs"].pop("var"))]
        name = variable["attrs"]["name"]
        if variable["type_key"] != "Variable":  # it was changed before
            name = nodes[int(name)]["repr_str"]
        variable.clear()
        variable["type_key"] = ""
        node["attrs"]["name_hint"] = name
    return _as_string("name_hint")(node, nodes)


def _name_of_object(node: dict[str, Any], nodes: _Nodes) -> dict[str, Any]:
    """Operators are known by their names."""
    del nodes
    node["repr_str"] = node.pop("global_key")
    return node


def _map_of_text(node: dict[str, Any], nodes: _Nodes) -> dict[str, Any]:
    """Keys stood as text beside the values of a map."""
    if "keys" in node:
        data = []
        for key, value in zip(node.pop("keys"), node["data"]):
            nodes.append({"type_key": "runtime.String", "repr_str": key})
            data += [len(nodes) - 1, value]
        node["data"] = data
    node["type_key"] = "Map"
    return node


def _annotation(node: dict[str, Any], nodes: _Nodes) -> dict[str, Any]:
    """Variables of TIR have a type besides their element type."""
    del nodes
    node["attrs"].setdefault("type_annotation", "0")
    return node


def _with_default(field: str, value: str = "0") -> _Change:
    """A field that is new; node 0 is nothing."""

    def change(node: dict[str, Any], nodes: _Nodes) -> dict[str, Any]:
        del nodes
        node.setdefault("attrs", {}).setdefault(field, value)
        return node

    return change


def _renamed_rows() -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name in [
        "Type",
        "TupleType",
        "TypeConstraint",
        "FuncType",
        "IncompleteType",
        "TypeRelation",
        "TypeCall",
        "RelayRefType",
        "SourceName",
        "Span",
        "Module",
        "GlobalVar",
        "Constructor",
        "TypeData",
    ]:
        rows[f"relay.{name}"] = [_rename({"Module": "IRModule", "RelayRefType": "relay.RefType"}.get(name, name))]
    for name in ["Pass", "PassInfo", "PassContext", "ModulePass", "Sequential"]:
        rows[f"relay.{name}"] = [_rename(f"transform.{name}")]
    for name in [
        "Variable",
        "SizeVar",
        "StringImm",
        "Cast",
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Mod",
        "FloorDiv",
        "FloorMod",
        "Min",
        "Max",
        "EQ",
        "NE",
        "LT",
        "LE",
        "GT",
        "GE",
        "And",
        "Or",
        "Not",
        "Select",
        "Load",
        "BufferLoad",
        "Ramp",
        "Broadcast",
        "Shuffle",
        "Call",
        "Let",
        "Any",
        "CommReducer",
        "Reduce",
        "LetStmt",
        "AttrStmt",
        "AssertStmt",
        "Store",
        "ProducerConsumer",
        "Allocate",
        "Free",
        "SeqStmt",
        "IfThenElse",
        "Evaluate",
        "For",
        "Prefetch",
        "IterVar",
    ]:
        rows[name] = [_rename("tir.Var" if name == "Variable" else f"tir.{name}")]
    return rows


def _rows_of_6() -> dict[str, Any]:
    rows = _renamed_rows()
    for name in ("TypeVar", "GlobalTypeVar"):
        rows[f"relay.{name}"] = [_rename(name), _name_of_variable]
    for name in ("Variable", "SizeVar"):
        rows[name] += [_annotation, _as_string("name")]
    for name in ("relay.GlobalVar", "relay.Constructor"):
        rows[name].append(_as_string("name_hint"))
    rows["relay.Op"] = [_rename("Op"), _name_of_object]
    rows["Op"] = rows["EnvFunc"] = [_name_of_object]
    rows["relay.Id"] = [_as_string("name_hint")]
    rows["StrMap"] = [_map_of_text]
    rows["StringImm"].append(_as_string("value"))
    return rows


_EXPRESSIONS = [
    "GlobalVar",
    "Constructor",
    "relay.Constant",
    "relay.Tuple",
    "relay.Var",
    "relay.Call",
    "relay.Function",
    "relay.Let",
    "relay.If",
    "relay.TupleGetItem",
    "relay.RefCreate",
    "relay.RefRead",
    "relay.RefWrite",
    "relay.Match",
    "Op",
]


def _rows_of_7() -> dict[str, Any]:
    rows: dict[str, Any] = {"GlobalVar": [_as_string_unless_node("name_hint")]}
    rows["relay.Id"] = [_as_string_unless_node("name_hint")]
    for name in ("tir.Var", "tir.SizeVar"):
        rows[name] = [_as_string_unless_node("name")]
    return rows


def _as_string_unless_node(field: str) -> _Change:
    """Text in a field itself, unless it is the number of a node that is text already."""

    def change(node: dict[str, Any], nodes: _Nodes) -> dict[str, Any]:
        value = node.get("attrs", {}).get(field)
        is_node = value is not None and value.isdigit() and int(value) < len(nodes)
        if value is None or (is_node and nodes[int(value)]["type_key"] == "runtime.String"):
            return node
        _text(node, nodes, field, value)
        return node

    return change


def _rows_of_8() -> dict[str, Any]:
    return {name: [_with_default("virtual_device_")] for name in _EXPRESSIONS if name != "Op"}


def _rows_of_9() -> dict[str, Any]:
    return {"IRModule": [_with_default("attrs")]}


def create_updater_06_to_07() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Reads what v0.6 saved as v0.7 would have saved it."""
    return create_updater(_rows_of_6(), "0.6.", "0.7.0")


def create_updater_07_to_08() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Reads what v0.7 saved as v0.8 would have saved it."""
    return create_updater(_rows_of_7(), "0.7.", "0.8.0")


def create_updater_08_to_09() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Reads what v0.8 saved as v0.9 would have saved it."""
    return create_updater(_rows_of_8(), "0.8.", "0.9.0")


_OLD_VERSION = re.compile(r'"tvm_version"\s*:\s*"0\.[6-9]\.')
_VERSIONS = (
    ("0.6", "0.7.0", _rows_of_6),
    ("0.7", "0.8.0", _rows_of_7),
    ("0.8", "0.9.0", _rows_of_8),
    ("0.9", "0.10.0", _rows_of_9),
)


def upgrade_json(json_str: str) -> str:
    """The text as version 0.10 would have written it; text of that version, or of none, stays as it is."""
    if not _OLD_VERSION.search(json_str):
        return json_str
    data = json.loads(json_str)
    for version, following, rows in _VERSIONS:
        if data.get("attrs", {}).get("tvm_version", "").startswith(version + "."):
            data = create_updater(rows(), version + ".", following)(data)
    return json.dumps(data, indent=2)
