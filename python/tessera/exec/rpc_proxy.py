"""An RPC proxy: ``python -m tvm.exec.rpc_proxy --port 9090``."""

from __future__ import annotations

import argparse
import sys

from ..rpc import _service

__all__ = ["main"]


def main(args: argparse.Namespace) -> None:
    """Serves until it is ended."""
    if args.tracker:
        raise ValueError("the proxy is listed in no tracker; leave --tracker out")
    _service.proxy(
        args.host,
        args.port,
        args.port_end,
        on_ready=lambda port: print(f"rpc-proxy: {args.host}:{port}", file=sys.stderr, flush=True),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen")
    parser.add_argument("--port", type=int, default=9090, help="the first port to try")
    parser.add_argument("--port-end", type=int, default=9199, help="the port behind the last to try")
    parser.add_argument("--web-port", type=int, default=0, help="not there: the proxy serves no web pages")
    parser.add_argument("--tracker", help="not there: the proxy is listed in no tracker")
    try:
        main(parser.parse_args())
    except KeyboardInterrupt:
        pass
    except (ValueError, RuntimeError) as problem:
        sys.exit(f"rpc_proxy: {problem}")
