"""Small things that tests of the package and of its users need."""

from __future__ import annotations

import os
import sys
import time
from typing import Any


def identity_after(x: Any, sleep: float) -> Any:
    """`x`, after some seconds."""
    time.sleep(sleep)
    return x


def terminate_self() -> None:
    """Ends the process at once, as a crash would."""
    os._exit(-1)


def install_request_hook(depth: int) -> None:
    """Nothing: v0.10's own CI sends the downloads of its tutorials to a mirror here, and other machines leave them be.

    `depth` is how many folders lie between the script that calls this and the root of its repository.
    """
    del depth


def main() -> None:
    """Runs the tests of the file that calls this: ``if __name__ == "__main__": tvm.testing.main()``."""
    import inspect

    import pytest

    caller = inspect.stack()[1].filename
    sys.exit(pytest.main([caller, *sys.argv[1:]]))
