"""Small models that PyTorch exported (tests/frameworks/export_tiny.py) answer as they did in ONNX Runtime."""

from pathlib import Path

import numpy as np
import pytest
import tessera as tvm
from tessera import relay

FOLDER = Path(__file__).resolve().parents[2] / "frameworks" / "tiny"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.onnx")), ids=lambda path: path.stem)
def test_a_small_exported_model_answers_as_in_onnx_runtime(path):
    data = np.load(path.with_suffix(".npz"))
    inputs = {name.removeprefix("in."): data[name] for name in data if name.startswith("in.")}
    want = [data[f"out.{i}"] for i in range(len(data) - len(inputs))]
    mod, params = relay.frontend.from_onnx(str(path))
    with tvm.transform.PassContext(opt_level=3):
        model = tvm.Model(relay.build(mod, "llvm", params=params))
    got = [out.numpy() for out in model.run({info.name: inputs[info.name] for info in model.inputs})]
    assert [out.shape for out in got] == [out.shape for out in want]
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=0, atol=1e-4 * np.abs(w).max())


def test_there_are_small_exported_models():
    assert len(list(FOLDER.glob("*.onnx"))) >= 17
