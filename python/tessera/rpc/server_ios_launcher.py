"""Servers on phones of Apple, which are started from a Mac."""

from __future__ import annotations

from typing import Any

__all__ = ["RPCServerMode", "ServerIOSLauncher"]


class RPCServerMode:
    """How a server on a phone is reached."""

    standalone = "standalone"
    proxy = "proxy"
    tracker = "tracker"


class ServerIOSLauncher:
    """Says that it needs Apple's tools."""

    def __init__(self, mode: Any, host: str, port: int, key: str) -> None:
        raise NotImplementedError(
            f"{host}:{port} {key!r} {mode}: there is no server for iOS; start `tessera rpc-server` on a machine with Linux"
        )

    @staticmethod
    def is_compatible_environment() -> bool:
        """False: Apple's tools are not used."""
        return False

    @staticmethod
    def shutdown_booted_devices() -> None:
        """Nothing was booted."""
