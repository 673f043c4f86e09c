"""Without PyTorch its names are there, and using them says what to install."""

import importlib
import subprocess
import sys

import pytest

NO_TORCH = "import sys; sys.modules['torch'] = None; import tessera\n"


def said_by(code):
    """The last line that Python writes about a program that fails where there is no PyTorch."""
    done = subprocess.run([sys.executable, "-c", NO_TORCH + code], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    "use",
    [
        "from tessera.contrib.torch import optimize_torch; optimize_torch(None, None)",
        "from tessera.contrib.torch import GraphModule; GraphModule(1, 1)",
        "from tessera.contrib.torch import as_torch; from tessera.ir import IRModule; as_torch(IRModule({}))",
    ],
)
def test_using_the_bridge_without_pytorch_says_what_is_missing(use):
    assert said_by(use) == (
        "ModuleNotFoundError: tessera.contrib.torch needs PyTorch, which is not installed: pip install torch"
    )


def test_the_backend_cannot_be_imported_without_pytorch():
    assert said_by("import tessera.torch") == (
        "ModuleNotFoundError: tessera.torch needs PyTorch 2.4 or later, which is not installed: pip install torch"
    )


def test_the_names_of_v0_10_are_there_without_pytorch():
    import tessera.as_tvm  # noqa: F401

    for name in ("as_torch", "optimize_torch", "module", "pytorch_tvm"):
        module = importlib.import_module(f"tvm.contrib.torch.{name}")
        assert all(hasattr(module, each) for each in module.__all__)
