"""An RPC tracker: ``python -m tvm.exec.rpc_tracker --port 9190``."""

from __future__ import annotations

import argparse
import sys

from ..rpc import _service

__all__ = ["main"]


def main(args: argparse.Namespace) -> None:
    """Serves until it is ended."""
    _service.tracker(
        args.host,
        args.port,
        args.port_end,
        silent=args.silent,
        on_ready=lambda port: print(f"rpc-tracker: {args.host}:{port}", file=sys.stderr, flush=True),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen")
    parser.add_argument("--port", type=int, default=9190, help="the first port to try")
    parser.add_argument("--port-end", type=int, default=9199, help="the port behind the last to try")
    parser.add_argument("--silent", action="store_true", help="say nothing")
    try:
        main(parser.parse_args())
    except KeyboardInterrupt:
        pass
    except (ValueError, RuntimeError) as problem:
        sys.exit(f"rpc_tracker: {problem}")
