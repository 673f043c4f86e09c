"""`python -m tessera.exec.ray_workers`: servers on a Ray cluster for `tessera tune --runner ray`.

Starts a tracker here and an RPC server in an actor for each node of the cluster, prints one line of JSON (`host`, `port`, `key` and
`workers`, or `error`), and waits until its input ends. An actor that is lost is started again by Ray.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from typing import Any

_LOOPBACK = "127.0.0.1"


def start_workers(ray: Any, tracker: tuple[str, int], key: str, workers: int) -> list[Any]:
    """Actors that serve, spread over the nodes."""

    @ray.remote(num_cpus=1, max_restarts=-1, scheduling_strategy="SPREAD")
    class Worker:
        def __init__(self) -> None:
            from tessera import rpc

            host = _LOOPBACK if tracker[0] == _LOOPBACK else ray.util.get_node_ip_address()
            self.server = rpc.Server(host=host, key=key, tracker_addr=tracker, silent=True)

        def ready(self) -> bool:
            return True

    actor_class: Any = Worker
    actors = [actor_class.remote() for _ in range(workers)]
    ray.get([actor.ready.remote() for actor in actors], timeout=120)
    return actors


def serve(address: str, workers: int) -> dict[str, Any]:
    """Connects to the cluster and starts the workers; the answer that is printed, and what must live on."""
    try:
        import ray  # type: ignore[import-not-found]
    except ImportError:
        return {"error": "the package ray is not installed; install it, or name a Python that has it in TESSERA_PYTHON"}
    from tessera.rpc.tracker import Tracker

    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError, RuntimeError) as error:
        return {"error": f"there is no Ray cluster at {address}: {error}"}
    nodes = [node["NodeManagerAddress"] for node in ray.nodes() if node.get("Alive")]
    host = _LOOPBACK if len(set(nodes)) < 2 else ray.util.get_node_ip_address()
    tracker = Tracker(host=host, port=9190, port_end=9999, silent=True)
    key = f"ray-{secrets.token_hex(8)}"
    count = workers or max(1, len(nodes))
    try:
        actors = start_workers(ray, (host, tracker.port), key, count)
    except Exception as error:  # whatever an actor ended with
        return {"error": f"no worker could be started on the Ray cluster: {error}"}
    return {"host": host, "port": tracker.port, "key": key, "workers": count, "held": (tracker, actors)}


def main(words: list[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="tessera.exec.ray_workers", description=__doc__)
    parser.add_argument("--address", default="auto", help="of the cluster; auto: the one of this machine")
    parser.add_argument("--workers", type=int, default=0, help="how many; 0: one for each node")
    args = parser.parse_args(words)
    answer = serve(args.address, args.workers)
    held = answer.pop("held", None)
    print(json.dumps(answer), flush=True)
    if "error" in answer:
        return 1
    sys.stdin.read()
    del held
    return 0


if __name__ == "__main__":
    sys.exit(main())
