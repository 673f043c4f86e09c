"""A tracker and a server on this machine."""

from __future__ import annotations

import time
from typing import Any

from ... import rpc

__all__ = ["LocalRPC"]


class LocalRPC:
    """`with LocalRPC() as local:` has a tracker at `local.tracker_host`, `local.tracker_port` and a server of the key
    `local.tracker_key`."""

    def __init__(self, tracker_key: str = "key", silent: bool = False, no_fork: bool = False) -> None:
        from ...rpc.tracker import Tracker

        del no_fork
        self.tracker_key = tracker_key
        self.tracker = Tracker(silent=silent, port=9190, port_end=12345)
        time.sleep(0.2)
        self.server = rpc.Server(
            host="127.0.0.1",
            port=9190,
            port_end=12345,
            tracker_addr=("127.0.0.1", self.tracker.port),
            key=tracker_key,
            silent=silent,
        )
        self.tracker_host, self.tracker_port = "127.0.0.1", self.tracker.port
        time.sleep(0.2)

    def __enter__(self) -> LocalRPC:
        return self

    def __exit__(self, *args: Any) -> None:
        self.server.terminate()
        self.tracker.terminate()
