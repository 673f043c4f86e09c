"""A tracker: lists servers by key and gives each to one client at a time."""

from __future__ import annotations

from ._process import ServiceProcess

__all__ = ["Tracker"]


class Tracker:
    """A tracker in a process of its own, which ends with this object. See `Server` about `host`."""

    def __init__(self, host: str = "127.0.0.1", port: int = 9190, port_end: int = 9199, silent: bool = False) -> None:
        self.host = host
        self.proc = ServiceProcess("tracker", host=host, port=port, port_end=port_end, silent=silent)
        self.port = self.proc.port

    def terminate(self) -> None:
        """Ends the tracker."""
        self.proc.terminate()
