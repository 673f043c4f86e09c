"""The way from PyTorch that README.md shows; `make test-frameworks` runs this."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import tessera

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from run_page import blocks_of  # noqa: E402


def test_three_lines_lead_from_pytorch_to_a_compiled_model(tmp_path, monkeypatch):
    (block,) = [b for b in blocks_of((ROOT / "README.md").read_text()) if b.file == "from_pytorch.py"]
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(block.text, names)
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224), dtype="float32")
    (scores,) = tessera.compile("resnet18.onnx").run(image)
    expected = names["network"](torch.from_numpy(image)).detach().numpy()
    np.testing.assert_allclose(scores.numpy(), expected, rtol=1e-3, atol=1e-3)
