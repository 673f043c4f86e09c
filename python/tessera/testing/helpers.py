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


def run_check_signal(nsec: int) -> None:
    """Waits some seconds in steps; a signal, such as an interrupt from the keyboard, is raised in between."""
    end = time.monotonic() + nsec
    while time.monotonic() < end:
        time.sleep(0.01)


def fetch_model_from_url(url: str, model_format: str, sha256: str) -> Any:
    """(module, parameters) of a model that is downloaded once and checked against its SHA-256."""
    import hashlib

    from ..contrib.download import download_testdata
    from ..driver import tvmc

    path = download_testdata(url, f"model_{sha256}.{model_format}", overwrite=False)
    with open(path, "rb") as file:
        found = hashlib.sha256(file.read()).hexdigest()
    if found != sha256:
        raise FileNotFoundError(f"the file from {url} has the SHA-256 {found}, not {sha256}")
    model = tvmc.load(path, model_format=model_format)
    return model.mod, model.params


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
