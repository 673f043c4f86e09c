"""Models that PyTorch exported import, compile and answer as in ONNX Runtime; `make test-frameworks` runs this.

The models are made where they are missing, in the folder that TESSERA_MODELS names (build/models unless set).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("transformers")
pytest.importorskip("onnxruntime")

export = pytest.importorskip("export")  # beside this file

HERE = Path(__file__).resolve().parent
pytestmark = pytest.mark.slow

FOLDER = Path(os.environ.get("TESSERA_MODELS", HERE.parent.parent / "build" / "models"))
TOLERANCE = 1e-3  # greatest difference over greatest magnitude
TOO_SLOW = ["keypointrcnn_resnet50_fpn"]  # docs/known_gaps.md
DYNAMO = ["resnet18", "mobilenet_v3_large", "swin_t", "vit_b_16", "bert_base", "gpt2"]


NAMES = [name for name in export.MODELS if name not in TOO_SLOW]


@pytest.mark.parametrize("name", [*NAMES, *(f"{name}.dynamo" for name in DYNAMO)])
def test_an_exported_model_answers_as_in_onnx_runtime(name: str) -> None:
    path = export.export(name, FOLDER)
    run = subprocess.run([sys.executable, HERE / "check.py", path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    report = json.loads(run.stdout.splitlines()[-1])
    print(name, report)
    assert all(extent > 0 for shape in report["shapes"] for extent in shape), "an answer of nothing compares nothing"
    assert report["difference"] < TOLERANCE
    assert report["peak_mb"] < 4 * report["model_mb"] + 500, "the compiler takes too much memory"
