"""Programs on other machines: a server runs them there, a session uses its files, functions, modules and devices from here.

Servers listen on this machine alone unless told otherwise, and beyond it only with a secret (`TESSERA_RPC_SECRET`).
"""

from .client import LocalSession, PopenSession, RPCSession, TrackerSession, connect, connect_tracker
from .minrpc import with_minrpc
from .server import Server

__all__ = [
    "LocalSession",
    "PopenSession",
    "RPCSession",
    "Server",
    "TrackerSession",
    "connect",
    "connect_tracker",
    "with_minrpc",
]
