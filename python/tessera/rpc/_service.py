"""What a process of RPC does: serve, track or pass on. These calls return when the watched descriptor is closed."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .._ffi.registry import get_global_func, register_func
from ..contrib import _function_pickle
from ..runtime import load_module
from . import _ffi_api
from . import testing as testing

__all__ = ["proxy", "server", "split_address", "tracker"]


def split_address(text: Any) -> tuple[str, int]:
    """Host and port of "host:port", or of a pair."""
    if isinstance(text, (tuple, list)):
        return str(text[0]), int(text[1])
    host, _, port = str(text).rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"an address is host:port, not {text!r}")
    return host, int(port)


def _register_server_functions() -> None:
    """What the core's server cannot: it loads libraries, here objects and archives of them are linked first."""

    @register_func("tvm.rpc.server.load_module", override=True)
    def load(name: str) -> Any:
        return load_module(_workpath(name))

    @register_func("tvm.rpc.server.download_linked_module", override=True)
    def linked(name: str) -> bytearray:
        path = _workpath(name)
        if path.endswith((".o", ".tar")):
            load_module(path)  # links it beside the file
            path += ".so"
        with open(path, "rb") as file:
            return bytearray(file.read())


def _workpath(name: str) -> str:
    return get_global_func("tvm.rpc.server.workpath")(name)


def _load_libraries(libraries: str | Sequence[str] | None) -> None:
    names = libraries.split(":") if isinstance(libraries, str) else libraries or []
    for name in filter(None, names):
        ctypes.CDLL(name, ctypes.RTLD_GLOBAL)


def server(
    host: str = "127.0.0.1",
    port: int = 9091,
    port_end: int = 9199,
    is_proxy: bool = False,
    tracker_addr: Any = None,
    key: str = "",
    load_library: Any = None,
    custom_addr: str | None = None,
    silent: bool = False,
    no_fork: bool = False,
    server_init_callback: Callable[[], Any] | None = None,
    watched: int = -1,
    on_ready: Callable[[int], Any] | None = None,
) -> None:
    """An RPC server, whose sessions are processes forked from this one."""
    _register_server_functions()
    _load_libraries(load_library)
    if server_init_callback is not None:
        server_init_callback()
    tracker_host, tracker_port = split_address(tracker_addr) if tracker_addr else ("", 0)
    _ffi_api.Serve(
        host, port, port_end, key, tracker_host, tracker_port, custom_addr or "",
        is_proxy, silent, watched, on_ready, os.fork, not no_fork,
    )  # fmt: skip


def tracker(
    host: str = "127.0.0.1",
    port: int = 9190,
    port_end: int = 9199,
    silent: bool = False,
    watched: int = -1,
    on_ready: Callable[[int], Any] | None = None,
) -> None:
    """A tracker."""
    del silent
    _ffi_api.Track(host, port, port_end, watched, on_ready)


def proxy(
    host: str = "127.0.0.1",
    port: int = 9091,
    port_end: int = 9199,
    timeout_client: float = 600,
    timeout_server: float = 600,
    watched: int = -1,
    on_ready: Callable[[int], Any] | None = None,
) -> None:
    """A proxy."""
    _ffi_api.Proxy(host, port, port_end, float(timeout_client), float(timeout_server), watched, on_ready)


def _report(line: object) -> None:
    print(line, flush=True)


def main() -> None:
    """Reads what to do and does it."""
    services: dict[str, Callable[..., None]] = {"server": server, "tracker": tracker, "proxy": proxy}
    (size,) = struct.unpack("<q", sys.stdin.buffer.read(8))
    kind, options = _function_pickle.loads(sys.stdin.buffer.read(size))
    try:
        services[kind](**options, watched=sys.stdin.fileno(), on_ready=_report)
    except KeyboardInterrupt:
        pass
    except Exception as problem:
        _report(f"{type(problem).__name__}: {problem}".replace("\n", " "))
        sys.exit(1)


if __name__ == "__main__":
    main()
