"""Sessions: with a server, through a tracker, with a process of our own, or with this one."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import error
from .._ffi.registry import get_global_func
from ..contrib.utils import tempdir
from ..runtime import Device, Module, load_module, system_lib
from ..runtime import ndarray as nd
from . import _ffi_api
from .base import RPC_SESS_MASK, TrackerCode

__all__ = ["LocalSession", "PopenSession", "RPCSession", "TrackerSession", "connect", "connect_tracker"]

_PIECE = 16 << 20  # of an upload


class RPCSession:
    """Files, functions, modules and devices of a server."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess
        self._tbl_index = _ffi_api.SessTableIndex(sess)

    def _call(self, name: str, *args: Any) -> Any:
        return self.get_function("tvm.rpc.server." + name)(*args)

    def system_lib(self) -> Module:
        """The functions that were linked into the server."""
        return self.get_function("runtime.SystemLib")()

    def get_function(self, name: str) -> Any:
        """A registered function of the server; AttributeError when there is none."""
        return self._sess.get_function(name)

    def device(self, dev_type: Any, dev_id: int = 0) -> Device:
        """A device of the server: tensors on it are made, copied and used as local ones are."""
        local = nd.device(dev_type, dev_id)
        device = Device(local.device_type + (self._tbl_index + 1) * RPC_SESS_MASK, local.device_id)
        device._rpc_sess = self  # type: ignore[attr-defined]
        return device

    def upload(self, data: Any, target: str | None = None) -> None:
        """Puts a file, or bytes under the name `target`, into the session's folder."""
        if isinstance(data, (bytes, bytearray)):
            if not target:
                raise ValueError("bytes need a name: upload(data, target)")
            contents = bytes(data)
        else:
            target = target or os.path.basename(os.fspath(data))
            contents = Path(data).read_bytes()
        for at in range(0, max(len(contents), 1), _PIECE):
            self._call("upload", target, bytearray(contents[at : at + _PIECE]), at > 0)

    def download(self, path: str) -> bytearray:
        """The contents of a file of the session."""
        return self._call("download", path)

    def remove(self, path: str) -> None:
        """Removes a file of the session."""
        self._call("remove", path)

    def listdir(self, path: str = "") -> str:
        """The names of files, with commas between."""
        return self._call("listdir", path)

    def load_module(self, path: str) -> Module:
        """The module of a file that was uploaded, loaded by the server."""
        return self._call("load_module", path)

    def download_linked_module(self, path: str) -> bytearray:
        """An uploaded module as a linked library, for a client that has no linker for the server's machine."""
        return self._call("download_linked_module", path)

    def cpu(self, dev_id: int = 0) -> Device:
        """A CPU of the server."""
        return self.device("cpu", dev_id)

    def cuda(self, dev_id: int = 0) -> Device:
        """A GPU of NVIDIA."""
        return self.device("cuda", dev_id)

    def cl(self, dev_id: int = 0) -> Device:
        """A device of OpenCL."""
        return self.device("opencl", dev_id)

    def vulkan(self, dev_id: int = 0) -> Device:
        """A device of Vulkan."""
        return self.device("vulkan", dev_id)

    def metal(self, dev_id: int = 0) -> Device:
        """A device of Metal."""
        return self.device("metal", dev_id)

    def rocm(self, dev_id: int = 0) -> Device:
        """A GPU of AMD."""
        return self.device("rocm", dev_id)

    def ext_dev(self, dev_id: int = 0) -> Device:
        """A device of some extension."""
        return self.device("ext_dev", dev_id)

    def hexagon(self, dev_id: int = 0) -> Device:
        """A Hexagon DSP."""
        return self.device("hexagon", dev_id)

    def webgpu(self, dev_id: int = 0) -> Device:
        """A device of WebGPU."""
        return self.device("webgpu", dev_id)


class LocalSession(RPCSession):
    """A session in this process: its devices are ours, its functions too, and its files lie in a folder of its own."""

    def __init__(self) -> None:
        self._folder = tempdir()

    def system_lib(self) -> Module:
        """The functions that were linked into this program."""
        return system_lib()

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


class PopenSession(RPCSession):
    """A session with a program that is started for it, such as `with_minrpc` makes; bytes are the program itself."""

    def __init__(self, binary: Any) -> None:
        if isinstance(binary, (bytes, bytearray)):
            self._folder = tempdir()
            path = self._folder.relpath("server.minrpc")
            Path(path).write_bytes(binary)
            os.chmod(path, 0o700)
            binary = path
        path = os.fspath(binary)
        if not os.path.isfile(path):
            raise RuntimeError(f"{path} does not exist.")
        if not os.access(path, os.X_OK):
            raise RuntimeError(f"{path} is not executable.")
        super().__init__(_ffi_api.Spawn([path]))


def connect(
    url: str,
    port: int,
    key: str = "",
    session_timeout: int = 0,
    session_constructor_args: Any = None,
    enable_logging: bool = False,
) -> RPCSession:
    """A session with the server at `url`. After `session_timeout` seconds the server ends it; 0: never."""
    del enable_logging
    if session_constructor_args:
        raise NotImplementedError("session_constructor_args is not there: connect to the server itself")
    return RPCSession(_ffi_api.Connect(url, int(port), key, int(session_timeout)))


class TrackerSession:
    """A tracker, which knows servers by key and gives each to one client at a time."""

    def __init__(self, addr: tuple[str, int]) -> None:
        self._addr = addr
        self._tracker: Any = None
        self._connect()

    def _connect(self) -> None:
        self._tracker = _ffi_api.TrackerConnect(self._addr[0], int(self._addr[1]))

    def _call(self, *message: Any, timeout: float = 0) -> Any:
        if self._tracker is None:
            self._connect()
        answer = json.loads(self._tracker["call"](json.dumps(message), timeout))
        code, *rest = answer if isinstance(answer, list) else [answer]
        if code != TrackerCode.SUCCESS:
            raise error.RPCError(f"the tracker at {self._addr[0]}:{self._addr[1]} answered {answer}")
        return rest[0] if rest else None

    def close(self) -> None:
        """Ends the connection; the next call opens one."""
        self._tracker = None

    def summary(self) -> dict[str, Any]:
        """Servers (`server_info`), and how many are free and how many clients wait for each key (`queue_info`)."""
        return self._call(TrackerCode.SUMMARY, timeout=30)

    def text_summary(self) -> str:
        """The same, to be read."""
        data = self.summary()
        lines = ["Server List", "-" * 30, "server-address           key", "-" * 30]
        servers = sorted(data["server_info"], key=lambda server: server["key"])
        lines += [f"{':'.join(map(str, server['addr'])):>21}    {server['key']}" for server in servers]
        lines += ["-" * 30, "", "Queue Status"]
        queues = data["queue_info"]
        free = {server["key"].removeprefix("server:") for server in servers}
        totals = {key: sum(server["key"] == f"server:{key}" for server in servers) for key in {*queues, *free}}
        width = max([len("key"), *map(len, totals)]) + 2
        rule = "-" * (width + 24)
        lines += [rule, f"{'key':<{width}}{'total':<8}{'free':<8}{'pending':<8}", rule]
        for key in sorted(totals):
            queue = queues.get(key, {"free": 0, "pending": 0})
            lines.append(f"{key:<{width}}{totals[key]:<8}{queue['free']:<8}{queue['pending']:<8}")
        return "\n".join([*lines, rule, ""])

    def request(
        self,
        key: str,
        priority: int = 1,
        session_timeout: int = 0,
        max_retry: int = 5,
        session_constructor_args: Any = None,
    ) -> RPCSession:
        """A session with a server of the key, as soon as one is free; a higher priority comes first."""
        last: Exception | None = None
        for attempt in range(max(max_retry, 1)):
            try:
                host, port, match_key = self._call(TrackerCode.REQUEST, key, "", priority)
                return connect(host, port, match_key, session_timeout, session_constructor_args)
            except (OSError, error.TVMError) as problem:
                last = problem
                self.close()
                time.sleep(min(0.2 * 2**attempt, 5))
        raise RuntimeError(f"Cannot request {key} after {max_retry} retry, last_error:{last!s}")

    def request_and_run(
        self,
        key: str,
        func: Callable[[RPCSession], Any],
        priority: int = 1,
        session_timeout: int = 0,
        max_retry: int = 2,
    ) -> Any:
        """What `func` gives for a session of the key; where the session is lost, it is tried with another."""
        last: Exception | None = None
        for _ in range(max_retry):
            try:
                return func(self.request(key, priority=priority, session_timeout=session_timeout))
            except error.TVMError as problem:
                last = problem
        raise RuntimeError(f"Failed to run on {key} after {max_retry} retry, last_error:{last!s}")


def connect_tracker(url: str, port: int) -> TrackerSession:
    """A connection to a tracker."""
    return TrackerSession((url, port))
