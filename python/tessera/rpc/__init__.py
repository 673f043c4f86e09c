"""Sessions of programs: in this process. Other machines cannot be reached yet."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from .._ffi.registry import get_global_func
from .._missing import explanation
from ..contrib.utils import tempdir
from ..runtime import Device, Module, load_module
from ..runtime import ndarray as nd

__all__ = ["LocalSession", "RPCSession", "Server", "TrackerSession", "connect", "connect_tracker"]

_FAR = "there is no RPC yet: programs run on this machine only; rpc.LocalSession() runs them in this process"


class RPCSession:
    """Files, functions and devices of the machine where programs run."""

    def __init__(self) -> None:
        self._folder = tempdir()

    def get_function(self, name: str) -> Any:
        """A registered function."""
        return get_global_func(name)

    def device(self, dev_type: Any, dev_id: int = 0) -> Device:
        """A device."""
        return nd.device(dev_type, dev_id)

    def upload(self, data: Any, target: str | None = None) -> None:
        """Puts a file, or bytes under the name `target`, where programs find them."""
        if isinstance(data, (bytes, bytearray)):
            if not target:
                raise ValueError("bytes need a name: upload(data, target)")
            Path(self._path(target)).write_bytes(data)
        else:
            shutil.copyfile(os.fspath(data), self._path(target or os.path.basename(os.fspath(data))))

    def download(self, path: str) -> bytearray:
        """The contents of a file."""
        return bytearray(Path(self._path(path)).read_bytes())

    def remove(self, path: str) -> None:
        """Removes a file."""
        Path(self._path(path)).unlink(missing_ok=True)

    def listdir(self, path: str = "") -> str:
        """The names of files, with commas between."""
        return ",".join(sorted(os.listdir(self._path(path))))

    def load_module(self, path: str) -> Module:
        """The module of a file that was uploaded."""
        return load_module(self._path(path))

    def _path(self, name: str) -> str:
        base = Path(self._folder.path)
        path = (base / name).resolve()
        if base.resolve() not in (path, *path.parents):
            raise ValueError(f"{name} lies outside of the session's folder")
        return str(path)

    def cpu(self, dev_id: int = 0) -> Device:
        """A CPU."""
        return nd.device("cpu", dev_id)

    def cuda(self, dev_id: int = 0) -> Device:
        """A GPU of NVIDIA."""
        return nd.device("cuda", dev_id)

    def cl(self, dev_id: int = 0) -> Device:
        """A device of OpenCL."""
        return nd.device("opencl", dev_id)


class LocalSession(RPCSession):
    """A session in this process."""


def _unreachable(name: str) -> NotImplementedError:
    return NotImplementedError(explanation(f"tvm.rpc.{name}") or _FAR)


def connect(url: str, port: int, key: str = "", session_timeout: int = 0, **options: Any) -> RPCSession:
    """A session of a server on another machine."""
    del url, port, key, session_timeout, options
    raise _unreachable("connect")


def connect_tracker(url: str, port: int) -> TrackerSession:
    """A tracker of servers."""
    return TrackerSession((url, port))


class TrackerSession:
    """A list of servers on other machines."""

    def __init__(self, addr: Any) -> None:
        del addr
        raise _unreachable("TrackerSession")


class Server:
    """Lets other machines run programs here."""

    def __init__(self, host: str = "0.0.0.0", port: int = 9091, port_end: int = 9199, **options: Any) -> None:
        del host, port, port_end, options
        raise _unreachable("Server")
