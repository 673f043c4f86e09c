"""Constants of the protocol, and what the connections of other programs need: addresses, keys, JSON messages."""

from __future__ import annotations

import json
import random
import socket
import struct
import time
from typing import Any

__all__ = [
    "RPC_CODE_DUPLICATE",
    "RPC_CODE_MISMATCH",
    "RPC_CODE_SUCCESS",
    "RPC_MAGIC",
    "RPC_SESS_MASK",
    "RPC_TRACKER_MAGIC",
    "TrackerCode",
    "connect_with_retry",
    "get_addr_family",
    "random_key",
    "recvall",
    "recvjson",
    "sendjson",
]

RPC_MAGIC = 0xFF271
RPC_TRACKER_MAGIC = 0x2F271
RPC_CODE_SUCCESS = RPC_MAGIC + 0
RPC_CODE_DUPLICATE = RPC_MAGIC + 1
RPC_CODE_MISMATCH = RPC_MAGIC + 2
RPC_SESS_MASK = 128

_MAX_MESSAGE = 16 << 20


class TrackerCode:
    """The first word of a message to a tracker."""

    FAIL = -1
    SUCCESS = 0
    PING = 1
    STOP = 2
    PUT = 3
    REQUEST = 4
    UPDATE_INFO = 5
    SUMMARY = 6
    GET_PENDING_MATCHKEYS = 7


def get_addr_family(addr: tuple[str, int]) -> Any:
    """The family of sockets for an address."""
    return socket.getaddrinfo(addr[0], addr[1], 0, 0, socket.IPPROTO_TCP)[0][0]


def recvall(sock: socket.socket, nbytes: int) -> bytes:
    """Exactly so many bytes; an OSError when the other side closes before."""
    data = bytearray()
    while len(data) < nbytes:
        piece = sock.recv(min(nbytes - len(data), 1 << 20))
        if not piece:
            raise OSError("connection reset")
        data += piece
    return bytes(data)


def sendjson(sock: socket.socket, data: Any) -> None:
    """Sends a value as JSON behind its length."""
    message = json.dumps(data).encode()
    sock.sendall(struct.pack("<i", len(message)) + message)


def recvjson(sock: socket.socket) -> Any:
    """Receives what `sendjson` sent."""
    (size,) = struct.unpack("<i", recvall(sock, 4))
    if not 0 <= size <= _MAX_MESSAGE:
        raise OSError(f"a message of {size} bytes is too long")
    return json.loads(recvall(sock, size))


def random_key(prefix: str, cmap: Any = None) -> str:
    """A key that is not in `cmap`."""
    while True:
        key = prefix + str(random.SystemRandom().random())
        if not cmap or key not in cmap:
            return key


def connect_with_retry(addr: tuple[str, int], timeout: float = 60, retry_period: float = 5) -> socket.socket:
    """A socket connected to an address, tried again until the time is over."""
    start = time.time()
    while True:
        try:
            return socket.create_connection(addr)
        except OSError:
            if time.time() - start > timeout:
                raise RuntimeError(f"Failed to connect to server {addr}") from None
            time.sleep(min(retry_period, timeout))
