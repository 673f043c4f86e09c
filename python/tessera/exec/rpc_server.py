"""An RPC server: ``python -m tvm.exec.rpc_server --tracker 127.0.0.1:9190 --key board``."""

from __future__ import annotations

import argparse
import sys

from ..rpc import _service

__all__ = ["main"]


def main(args: argparse.Namespace) -> None:
    """Serves until it is ended."""
    _service.server(
        host=args.host,
        port=args.port,
        port_end=args.port_end,
        is_proxy=args.through_proxy,
        tracker_addr=args.tracker,
        key=args.key,
        load_library=args.load_library,
        custom_addr=args.custom_addr,
        silent=args.silent,
        no_fork=not args.fork,
        on_ready=lambda port: print(f"rpc-server: {args.host}:{port}", file=sys.stderr, flush=True),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen, or the host of the proxy")
    parser.add_argument("--port", type=int, default=9090, help="the first port to try, or the proxy's")
    parser.add_argument("--port-end", type=int, default=9199, help="the port behind the last to try")
    parser.add_argument("--through-proxy", action="store_true", help="wait at the proxy of --host and --port")
    parser.add_argument("--tracker", help="the tracker that lists this server, host:port")
    parser.add_argument(
        "--key", default="", help="which clients are served, and under what the tracker lists this server"
    )
    parser.add_argument("--silent", action="store_true", help="say nothing of sessions")
    parser.add_argument("--load-library", help="libraries to load first, with colons between")
    parser.add_argument(
        "--no-fork", dest="fork", action="store_false", help="sessions one after another, in this process"
    )
    parser.add_argument("--custom-addr", help="the address that the tracker tells clients")
    return parser


if __name__ == "__main__":
    arguments = _parser().parse_args()
    if arguments.tracker and not arguments.key:
        sys.exit("rpc_server: a server of a tracker needs a --key")
    try:
        main(arguments)
    except KeyboardInterrupt:
        pass
    except (ValueError, RuntimeError) as problem:
        sys.exit(f"rpc_server: {problem}")
