"""What a tracker lists: ``python -m tvm.exec.query_rpc_tracker --port 9190``."""

from __future__ import annotations

import argparse
import os
import sys

from .. import rpc

__all__ = ["main"]


def main() -> None:
    """Prints it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default=os.environ.get("TVM_TRACKER_HOST", "127.0.0.1"), help="the tracker's host")
    parser.add_argument("--port", type=int, default=int(os.environ.get("TVM_TRACKER_PORT", "9190")), help="its port")
    args = parser.parse_args()
    print(f"Tracker address {args.host}:{args.port}\n")
    print(rpc.connect_tracker(args.host, args.port).text_summary())


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as problem:
        sys.exit(f"query_rpc_tracker: {problem}")
