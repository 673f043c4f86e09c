"""A server: lets clients run programs here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import testing as testing
from ._process import ServiceProcess

__all__ = ["Server"]


class Server:
    """A server in a process of its own, which ends with this object.

    It listens on this machine alone; another `host` needs a secret in TESSERA_RPC_SECRET. Functions that clients call are
    registered by `server_init_callback`, which runs in the server, or by libraries (`load_library`).
    """

    def __init__(
        self,
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
    ) -> None:
        self.host = host
        self.is_proxy = is_proxy
        self.custom_addr = custom_addr
        self.proc = ServiceProcess(
            "server",
            host=host,
            port=port,
            port_end=port_end,
            is_proxy=is_proxy,
            tracker_addr=tracker_addr,
            key=key,
            load_library=load_library,
            custom_addr=custom_addr,
            silent=silent,
            no_fork=no_fork,
            server_init_callback=server_init_callback,
        )
        self.port = self.proc.port

    def terminate(self) -> None:
        """Ends the server and its sessions."""
        self.proc.terminate()
