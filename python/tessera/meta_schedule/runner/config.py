"""How candidates are run."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ... import rpc

__all__ = ["EvaluatorConfig", "RPCConfig"]


class EvaluatorConfig(NamedTuple):
    """`number` runs are averaged, `repeat` times, each for `min_repeat_ms` at least."""

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    enable_cpu_cache_flush: bool = False

    @staticmethod
    def _normalized(config: EvaluatorConfig | None) -> EvaluatorConfig:
        return EvaluatorConfig() if config is None else EvaluatorConfig(*config)


class RPCConfig(NamedTuple):
    """Where the tracker is, and which servers are asked for; what is not given comes from TVM_TRACKER_HOST, TVM_TRACKER_PORT
    and TVM_TRACKER_KEY of the environment."""

    tracker_host: str | None = None
    tracker_port: None | int | str = None
    tracker_key: str | None = None
    session_priority: int = 1
    session_timeout_sec: int = 10

    def _sanity_check(self) -> None:
        def of_environment(given: Any, name: str) -> str:
            value = given or os.environ.get(name)
            if not value:
                raise ValueError(f"RPC: {name} is neither given nor in the environment")
            return str(value)

        of_environment(self.tracker_host, "TVM_TRACKER_HOST")
        of_environment(self.tracker_port, "TVM_TRACKER_PORT")
        of_environment(self.tracker_key, "TVM_TRACKER_KEY")

    @staticmethod
    def _normalized(config: RPCConfig | None) -> RPCConfig:
        config = RPCConfig() if config is None else config
        config._sanity_check()
        return RPCConfig(
            tracker_host=config.tracker_host or os.environ["TVM_TRACKER_HOST"],
            tracker_port=int(config.tracker_port or os.environ["TVM_TRACKER_PORT"]),
            tracker_key=config.tracker_key or os.environ["TVM_TRACKER_KEY"],
            session_priority=config.session_priority,
            session_timeout_sec=config.session_timeout_sec,
        )

    def connect_tracker(self) -> Any:
        """A connection to the tracker."""
        host, port = self.tracker_host or os.environ["TVM_TRACKER_HOST"], self.tracker_port
        return rpc.connect_tracker(host, int(port or os.environ["TVM_TRACKER_PORT"]))

    def connect_server(self) -> Any:
        """A session with a server."""
        key = self.tracker_key or os.environ["TVM_TRACKER_KEY"]
        return self.connect_tracker().request(
            key, priority=self.session_priority, session_timeout=self.session_timeout_sec
        )

    def count_num_servers(self, allow_missing: bool = True) -> int:
        """How many servers the tracker knows under the key."""
        key = self.tracker_key or os.environ["TVM_TRACKER_KEY"]
        count = sum(1 for each in self.connect_tracker().summary()["server_info"] if each["key"] == f"server:{key}")
        if count == 0 and not allow_missing:
            raise ValueError(f"the tracker knows no server of the key {key}")
        return count
