"""What every test may use."""

from pathlib import Path

import pytest

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
