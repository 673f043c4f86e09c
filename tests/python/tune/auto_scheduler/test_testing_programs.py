"""Programs of auto_scheduler.testing."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.auto_scheduler.testing import tune_onnx, tune_relay, tune_te

QUICK = ["--target", "llvm", "--num-trials", "2", "--number", "1", "--min-repeat-ms", "0"]


def test_a_workload_is_tuned_by_its_name(tmp_path, capsys):
    tune_te.main(["--workload", "GMM-0", "--work-dir", str(tmp_path), *QUICK])
    assert "Computational DAG" in capsys.readouterr().out
    assert len((tmp_path / "GMM-0.json").read_text().splitlines()) >= 2
    for name in ("none", "GMM-99", "GMM-x"):
        with pytest.raises(SystemExit):
            tune_te.main(["--workload", name, "--work-dir", str(tmp_path), *QUICK])
        assert "no workload" in capsys.readouterr().err


def test_a_model_is_tuned_by_its_name(tmp_path, monkeypatch, capsys):
    x = relay.var("x", shape=(2, 32))
    mod = tessera.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(np.ones((16, 32), "float32")))))
    monkeypatch.setattr(tune_relay, "get_network", lambda name, shape, **_: (mod, {}, ("x", shape, "float32")))
    tune_relay.main(["--workload", "layer", "--input-shape", "[2, 32]", "--work-dir", str(tmp_path), *QUICK])
    assert "Running time" in capsys.readouterr().out and (tmp_path / "layer.json").exists()


def test_an_onnx_file_is_tuned(tmp_path, capsys):
    onnx = pytest.importorskip("onnx")
    tensor = lambda name, shape: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    weight = onnx.numpy_helper.from_array(np.ones((32, 16), "float32"), "w")
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [tensor("x", [2, 32])], [tensor("y", [2, 16])], [weight])
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), path)
    words = ["--model-name", "m", "--onnx-path", str(path), "--work-dir", str(tmp_path), *QUICK]
    tune_onnx.main([*words, "--input-shape", '[{"name": "x", "dtype": "float32", "shape": [2, 32]}]'])
    assert "Running time" in capsys.readouterr().out and (tmp_path / "m.json").exists()
    with pytest.raises(SystemExit):
        tune_onnx.main([*words, "--input-shape", '[{"name": "x"}]'])
    assert "name, dtype and shape" in capsys.readouterr().err
