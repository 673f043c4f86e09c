"""A proxy: servers that cannot be reached connect to it and wait, and clients of the same key are passed on to them."""

from __future__ import annotations

from typing import Any

from ._process import ServiceProcess

__all__ = ["Proxy", "websocket_proxy_server"]


class Proxy:
    """A proxy in a process of its own, which ends with this object. See `Server` about `host`."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 9091,
        port_end: int = 9199,
        web_port: int = 0,
        timeout_client: float = 600,
        timeout_server: float = 600,
        tracker_addr: Any = None,
        index_page: str | None = None,
        resource_files: Any = None,
    ) -> None:
        if web_port or index_page or resource_files:
            raise NotImplementedError(
                "the proxy serves no web pages: leave web_port, index_page and resource_files out"
            )
        if tracker_addr:
            raise NotImplementedError("the proxy is listed in no tracker: let clients connect to it by its key")
        self.host = host
        self.proc = ServiceProcess(
            "proxy",
            host=host,
            port=port,
            port_end=port_end,
            timeout_client=timeout_client,
            timeout_server=timeout_server,
        )
        self.port = self.proc.port

    def terminate(self) -> None:
        """Ends the proxy."""
        self.proc.terminate()


def websocket_proxy_server(url: str, key: str = "") -> None:
    """Says that there are no web sockets."""
    raise NotImplementedError(f"{url}: there are no web sockets for {key!r}; rpc.Server(is_proxy=True) connects by TCP")
