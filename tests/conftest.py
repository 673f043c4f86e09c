"""What every test may use."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the source tree."""
    return Path(__file__).resolve().parent.parent
