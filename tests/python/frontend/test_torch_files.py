"""Files of torch.export are read without PyTorch, whatever is in them."""

from __future__ import annotations

import io
import json
import pickletools
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera._ffi.registry import get_global_func
from tessera.contrib import graph_executor
from tessera.error import OpNotImplemented
from torch_files import archive, node, program, tensor

rng = np.random.default_rng(0)


def load(path: Path, content: bytes, shapes: dict[str, Any] | None = None) -> Any:
    path.write_bytes(content)
    mod, _, kind = get_global_func("frontend.load_model")(str(path), "", shapes or {}, "")
    assert str(kind) == "pytorch"
    return mod


def run(mod: Any, *inputs: np.ndarray) -> list[np.ndarray]:
    """On the VM where an extent is dynamic."""
    given = {str(param.name_hint): value for param, value in zip(mod["main"].params, inputs, strict=True)}
    out = relay.create_executor("vm", mod, tessera.cpu(), "llvm").evaluate()(*given.values())
    return (
        [item.numpy() for item in out]
        if isinstance(out, (list, tuple)) or (hasattr(out, "__len__") and not hasattr(out, "numpy"))
        else [out.numpy()]
    )


WEIGHTS = {
    "fc.weight": rng.standard_normal((5, 4)).astype("float32"),
    "fc.bias": rng.standard_normal(5).astype("float32"),
}


def linear_layer(batch: Any = 2) -> dict[str, Any]:
    nodes = [
        node("torch.ops.aten.linear.default", "linear", input="x", weight="p_fc_weight", bias="p_fc_bias"),
        node("torch.ops.aten.relu_.default", "relu", self="linear"),
    ]
    return program({"x": ((batch, 4), "float32")}, WEIGHTS, nodes, ["relu"])


def want(x: np.ndarray) -> np.ndarray:
    return np.maximum(x @ WEIGHTS["fc.weight"].T + WEIGHTS["fc.bias"], 0)


def test_a_linear_layer_answers_as_numpy(tmp_path):
    mod = load(tmp_path / "m.pt2", archive(linear_layer(), WEIGHTS))
    x = rng.standard_normal((2, 4)).astype("float32")
    lib = relay.build(mod, "llvm")
    module = graph_executor.GraphModule(lib["default"](tessera.cpu()))
    module.run(x=x)
    np.testing.assert_allclose(module.get_output(0).numpy(), want(x), rtol=1e-5, atol=1e-6)


def test_the_format_is_known_by_content(tmp_path):
    (tmp_path / "weights").write_bytes(archive(linear_layer(), WEIGHTS))
    assert str(get_global_func("frontend.guess_model_format")(str(tmp_path / "weights"))) == "pytorch"


def test_a_dynamic_batch_is_one_program(tmp_path):
    mod = load(tmp_path / "m.pt2", archive(linear_layer("s0"), WEIGHTS))
    for batch in (1, 3):
        x = rng.standard_normal((batch, 4)).astype("float32")
        np.testing.assert_allclose(run(mod, x)[0], want(x), rtol=1e-5, atol=1e-6)


def test_weights_may_have_strides_and_an_offset(tmp_path):
    stored = np.concatenate([np.zeros(3, "float32"), WEIGHTS["fc.weight"].T.reshape(-1)])
    described = {
        "sizes": [{"as_int": 5}, {"as_int": 4}],
        "strides": [{"as_int": 1}, {"as_int": 5}],
        "storage_offset": {"as_int": 3},
    }
    weights = {"fc.weight": stored, "fc.bias": WEIGHTS["fc.bias"]}
    mod = load(tmp_path / "m.pt2", archive(linear_layer(), weights, {"fc.weight": described}))
    x = rng.standard_normal((2, 4)).astype("float32")
    np.testing.assert_allclose(run(mod, x)[0], want(x), rtol=1e-5, atol=1e-6)


def test_lists_numbers_and_functions_of_python(tmp_path):
    size = {"as_sym_int": {"as_name": "rows"}}
    nodes = [
        node("torch.ops.aten.sym_size.int", [size], self="x", dim=0),
        node("_operator.mul", [{"as_sym_int": {"as_name": "twice"}}], a=size, b=2),
        node(
            "torch.ops.aten.chunk.default", [{"as_tensors": [{"name": "a"}, {"name": "b"}]}], self="x", chunks=2, dim=1
        ),
        node("torch.ops.aten.cat.default", "both", tensors=["b", "a"]),
        node(
            "torch.ops.aten.view.default",
            "out",
            self="both",
            size={"as_sym_ints": [{"as_name": "twice"}, {"as_int": 2}]},
        ),
    ]
    mod = load(tmp_path / "m.pt2", archive(program({"x": (("s0", 4), "float32")}, {}, nodes, ["out"]), {}))
    x = rng.standard_normal((3, 4)).astype("float32")
    np.testing.assert_array_equal(run(mod, x)[0], np.concatenate([x[:, 2:], x[:, :2]]))


def test_what_is_not_supported_is_listed_all_at_once(tmp_path):
    nodes = [
        node("torch.ops.aten.special_one.default", "a", self="x"),
        node("torch.ops.mine.other.default", "b", self="a"),
    ]
    content = archive(program({"x": ((2,), "float32")}, {}, nodes, ["b"]), {})
    with pytest.raises(OpNotImplemented, match=r"\['aten::special_one', 'mine::other'\]"):
        load(tmp_path / "m.pt2", content)


def pickled(*tensors: tuple[str, np.ndarray], extra: bytes = b"") -> bytes:
    """A dictionary of tensors as torch.save writes it."""
    program = b"\x80\x02}q\x00" + extra
    data = {}
    for i, (name, value) in enumerate(tensors):
        storage = {"float32": b"FloatStorage", "int64": b"LongStorage"}[str(value.dtype)]
        ints = lambda numbers: b"(" + b"".join(b"J" + int(n).to_bytes(4, "little") for n in numbers) + b"t"
        text = lambda t: b"X" + len(t).to_bytes(4, "little") + t
        strides = [s // value.itemsize for s in value.strides]
        program += text(name.encode()) + b"ctorch._utils\n_rebuild_tensor_v2\n(("
        program += text(b"storage") + b"ctorch\n" + storage + b"\n" + text(str(i).encode()) + text(b"cpu")
        program += b"K" + bytes([value.size]) + b"tQK\x00" + ints(value.shape) + ints(strides) + b"\x89"
        program += b"ccollections\nOrderedDict\n)RtRs"
        data[f"archive/data/{i}"] = value.tobytes()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("archive/data.pkl", program + b".")
        for name, content in data.items():
            file.writestr(name, content)
    return out.getvalue()


def older_archive(weights: bytes) -> bytes:
    """The layout of torch 2.5 to 2.7."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("serialized_exported_program.json", json.dumps(linear_layer()))
        file.writestr("serialized_state_dict.pt", weights)
    return out.getvalue()


def test_the_pickle_of_older_files_is_read_as_data(tmp_path):
    content = pickled(*WEIGHTS.items())
    pickletools.dis(zipfile.ZipFile(io.BytesIO(content)).read("archive/data.pkl"), out=io.StringIO())  # it is one
    mod = load(tmp_path / "m.pt2", older_archive(content))
    x = rng.standard_normal((2, 4)).astype("float32")
    np.testing.assert_allclose(run(mod, x)[0], want(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            b"cos\nsystem\nX\x02\x00\x00\x00ls\x85R0",
            "a known function|is no tensor|are in no dictionary|cannot be read|$",
        ),
        (b")" + b"\x85" * 5000 + b"0", "nested too deep"),
        (b"i", "is not one that tensors are written with"),
        (b"h\x07", "a value is missing"),
        (b"X\xff\xff\xff\x7f", "ends early"),
    ],
)
def test_a_hostile_pickle_runs_nothing(tmp_path, extra, message):
    content = older_archive(pickled(("fc.weight", WEIGHTS["fc.weight"]), extra=extra))
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "m.pt2", content)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"sizes": [{"as_int": 1 << 40}, {"as_int": 1 << 40}]}, "does not fit its storage"),
        ({"sizes": [{"as_int": 500}, {"as_int": 4}]}, "does not fit its storage"),
        ({"strides": [{"as_int": 1 << 39}, {"as_int": 1}]}, "does not fit its storage"),
        ({"strides": [{"as_int": -4}, {"as_int": 1}]}, "does not fit its storage"),
        ({"storage_offset": {"as_int": 1 << 62}}, "does not fit its storage"),
        ({"dtype": 99}, "element type"),
        ({"sizes": "many"}, "is no list"),
    ],
)
def test_a_weight_that_does_not_fit_the_file_is_an_error(tmp_path, described, message):
    with pytest.raises(Exception, match=message):
        load(tmp_path / "m.pt2", archive(linear_layer(), WEIGHTS, {"fc.weight": described}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p["graph_module"].pop("graph"), '"graph" is missing'),
        (lambda p: p["graph_module"]["graph"].update(nodes=3), "nodes is no list"),
        (lambda p: p["graph_module"]["graph"]["nodes"][0].update(target=5), "target is no text"),
        (lambda p: p["graph_module"]["graph"]["nodes"][0]["inputs"][0].update(arg={"as_what": 1}), "as_what"),
        (lambda p: p["graph_module"]["graph"]["nodes"][0]["inputs"][0].update(arg=tensor("nobody")), "nobody"),
        (lambda p: p["graph_module"]["graph"]["tensor_values"].clear(), '"x" is missing'),
        (lambda p: p["graph_module"]["graph"]["tensor_values"]["x"].update(sizes=[{"as_int": -9}]), "out of range"),
    ],
)
def test_a_broken_program_is_an_error_that_says_what(tmp_path, change, message):
    text = linear_layer()
    change(text)
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "m.pt2", archive(text, WEIGHTS))


def test_torchscript_says_who_reads_it(tmp_path):
    content = pickled(*WEIGHTS.items())
    with pytest.raises(ImportError, match=r"python -m tessera\.driver\.tvmc"):
        load(tmp_path / "m.pt", content)
