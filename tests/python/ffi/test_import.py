"""`import tessera` is quick because it imports little."""

import subprocess
import sys

HEAVY = ["pytest", "torch", "scipy", "onnx", "tensorflow", "asyncio", "multiprocessing", "unittest", "xml", "http"]


def test_nothing_heavy_is_imported():
    code = f"import sys, tessera; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_the_runtime_is_loaded_when_asked_for():
    code = (
        "import os; os.environ['TVM_USE_RUNTIME_LIB'] = '1'; import tessera._ffi.base as base;"
        "print(base._RUNTIME_ONLY, 'libtessera.so' in open('/proc/self/maps').read())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True False", done.stderr
