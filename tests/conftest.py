"""What every test may use."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("TESSERA_VERIFY", "1")  # every pass is checked to leave well-formed functions

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
