"""Files of the network. Nothing is fetched here: what a user has put into the folder is found."""

from __future__ import annotations

import os
import pathlib

__all__ = ["TEST_DATA_ROOT_PATH", "download", "download_testdata"]

#: Where `download_testdata` looks: $TEST_DATA_ROOT_PATH, or a folder of the user's own.
TEST_DATA_ROOT_PATH = pathlib.Path(os.environ.get("TEST_DATA_ROOT_PATH") or pathlib.Path.home() / ".tvm_test_data")


def download(
    url: str, path: str | os.PathLike, overwrite: bool = False, size_compare: bool = False, retries: int = 3
) -> None:
    """Leaves a file that is at `path` as it is. Where there is none, an error says where to put it."""
    del overwrite, size_compare, retries  # there is nothing to compare with
    if not os.path.isfile(path):
        raise FileNotFoundError(f"nothing is downloaded here: fetch {url} yourself and put it at {os.fspath(path)}")


def download_testdata(url: str, relpath: str, module: str | list[str] | None = None, overwrite: bool = False) -> str:
    """The path of `relpath` in the folder of test data, below folders that `module` names."""
    parts = [] if module is None else [module] if isinstance(module, str) else list(module)
    path = TEST_DATA_ROOT_PATH.joinpath(*parts, relpath)
    download(url, path, overwrite)
    return str(path)
