"""Files of torch.export made without PyTorch: a zip with JSON and the bytes of tensors."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np

EXPORT_TYPES = {
    "uint8": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bool": 12,
}


def tensor(name: str) -> dict[str, Any]:
    """A tensor of the graph as an argument."""
    return {"as_tensor": {"name": name}}


def argument(value: Any) -> dict[str, Any]:
    """A Python value as an argument; a text names a tensor."""
    if value is None:
        return {"as_none": True}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    if isinstance(value, str):
        return tensor(value)
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return {"as_ints": value}
    if isinstance(value, list):
        return {"as_tensors": [{"name": item} for item in value]}
    return dict(value)


def node(target: str, outputs: Any, **inputs: Any) -> dict[str, Any]:
    """A call of an operator."""
    outputs = outputs if isinstance(outputs, list) else [tensor(outputs)]
    named = [{"name": name, "arg": argument(value), "kind": 1} for name, value in inputs.items()]
    return {"target": target, "inputs": named, "outputs": outputs, "metadata": {}}


def meta(shape: Any, dtype: str) -> dict[str, Any]:
    """What the file says of a tensor; a text is an extent that a run decides."""
    sizes = [
        {"as_int": e} if isinstance(e, int) else {"as_expr": {"expr_str": e, "hint": {"as_int": 2}}} for e in shape
    ]
    strides = [{"as_int": int(s)} for s in np.cumprod([1, *[e for e in shape[:0:-1] if isinstance(e, int)]])[::-1]]
    return {"dtype": EXPORT_TYPES[dtype], "sizes": sizes, "strides": strides, "storage_offset": {"as_int": 0}}


def program(
    inputs: dict[str, tuple[Any, str]], weights: dict[str, np.ndarray], nodes: list[dict[str, Any]], outputs: list[str]
) -> dict[str, Any]:
    """The JSON of a program; weights are named as in the state_dict, "p_" before the name in the graph."""
    called = {name: "p_" + name.replace(".", "_") for name in weights}
    specs: list[dict[str, Any]] = [
        {"parameter": {"arg": {"name": called[name]}, "parameter_name": name}} for name in weights
    ]
    specs += [{"user_input": {"arg": tensor(name)}} for name in inputs]
    values = {name: meta(shape, dtype) for name, (shape, dtype) in inputs.items()}
    graph = {
        "inputs": [tensor(name) for name in [*called.values(), *inputs]],
        "outputs": [tensor(name) for name in outputs],
        "nodes": nodes,
        "tensor_values": values,
        "sym_int_values": {},
    }
    ends = [{"user_output": {"arg": tensor(name)}} for name in outputs]
    return {"graph_module": {"graph": graph, "signature": {"input_specs": specs, "output_specs": ends}}}


def archive(text: dict[str, Any], weights: dict[str, np.ndarray], changed: dict[str, Any] | None = None) -> bytes:
    """A file as torch 2.9 writes it; `changed` replaces what it says of weights."""
    out = io.BytesIO()
    config = {}
    with zipfile.ZipFile(out, "w") as file:
        for i, (name, value) in enumerate(weights.items()):
            file.writestr(f"m/data/weights/weight_{i}", value.tobytes())
            described = meta(value.shape, str(value.dtype))
            config[name] = {"path_name": f"weight_{i}", "is_param": True, "use_pickle": False, "tensor_meta": described}
            config[name]["tensor_meta"].update((changed or {}).get(name, {}))
        file.writestr("m/data/weights/model_weights_config.json", json.dumps({"config": config}))
        file.writestr("m/models/model.json", json.dumps(text))
        file.writestr("m/archive_format", "pt2")
    return out.getvalue()
