"""What every test may use."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

os.environ.setdefault("TESSERA_VERIFY", "1")  # every pass is checked to leave well-formed functions
if "TESSERA_CACHE_DIR" not in os.environ:  # kernels of the tests stay out of the user's cache
    os.environ["TESSERA_CACHE_DIR"] = tempfile.mkdtemp(prefix="tessera-test-cache-")
    atexit.register(shutil.rmtree, os.environ["TESSERA_CACHE_DIR"], ignore_errors=True)

try:
    import tessera  # noqa: F401
except ImportError:  # tests of the source tree need no build
    pass
else:
    pytest_plugins = ["tessera.testing.plugin"]  # `target` and `dev`


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the source tree."""
    return Path(__file__).resolve().parent.parent
