"""The address of an RPC tracker."""

from __future__ import annotations

from urllib.parse import urlsplit

from .exceptions import TVMCException

__all__ = ["tracker_host_port_from_cli"]

DEFAULT_PORT = 9090


def tracker_host_port_from_cli(rpc_tracker_str: str | None) -> tuple[str | None, int | None]:
    """`"host:port"` or `"host"` (port 9090) as a pair; (None, None) where nothing is given."""
    if not rpc_tracker_str:
        return None, None
    try:
        address = urlsplit("//" + rpc_tracker_str)
        host, port = address.hostname, address.port
    except ValueError as error:
        raise TVMCException(f'"{rpc_tracker_str}" is no address of a tracker: {error}') from error
    if not host:
        raise TVMCException(f'"{rpc_tracker_str}" is no address of a tracker: give it as host or host:port')
    return host, port or DEFAULT_PORT
