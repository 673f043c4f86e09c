"""Strangers at the doors of servers, trackers and proxies: a client written after the protocol, which says what none of ours would."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import socket
import struct
import time

import pytest
from tessera import rpc
from tessera.rpc.proxy import Proxy
from tessera.rpc.tracker import Tracker

SESSION, TRACKER = 0xFF271, 0x2F271  # magic numbers
PATIENCE = 60  # seconds in which the other side has to answer or hang up


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(value)) + value


def hello_of(magic=SESSION, key="", version=1, is_server=0, nonce=b"n" * 32):
    return struct.pack("<IIB", magic, version, is_server) + text(key) + struct.pack("<I", 0) + nonce


def proof_of(side, hello, nonce, secret):
    return hmac.new(secret.encode(), text(side) + text(hello) + text(nonce), hashlib.sha256).digest()


class Stranger:
    """A connection that is spoken to byte by byte."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the other side hung up already
            self.socket.sendall(data)

    def message(self, data):
        self.send(struct.pack("<I", len(data)) + data)

    def frame(self, data):
        self.send(struct.pack("<Q", len(data)) + data)

    def _exactly(self, count):
        out = b""
        with contextlib.suppress(ConnectionResetError):
            while len(out) < count and (piece := self.socket.recv(count - len(out))):
                out += piece
        return out

    def receive(self, length="<I"):
        """A message; None where the other side has hung up."""
        size = self._exactly(struct.calcsize(length))
        return self._exactly(*struct.unpack(length, size)) if size else None

    def is_hung_up(self):
        """The other side says no more; what it had said before is thrown away."""
        with contextlib.suppress(ConnectionResetError):
            while self.socket.recv(1 << 16):
                pass
        return True  # else recv had timed out

    def introduce(self, magic=SESSION, key="", secret="", side="client"):
        """Whether the other side accepts the greeting, and knows the secret itself."""
        hello = hello_of(magic, key)
        self.message(hello)
        challenge = self.receive()
        if challenge is None or challenge[:4] != struct.pack("<I", magic):
            return False
        self.message(proof_of(side, hello, challenge[4:], secret))
        return self.receive() == proof_of("server", hello, challenge[4:], secret)


@pytest.fixture(scope="module")
def secret():
    before = os.environ.get("TESSERA_RPC_SECRET")
    os.environ["TESSERA_RPC_SECRET"] = "open sesame"
    yield "open sesame"
    if before is None:
        del os.environ["TESSERA_RPC_SECRET"]
    else:
        os.environ["TESSERA_RPC_SECRET"] = before


@pytest.fixture(scope="module")
def server(secret):
    server = rpc.Server(port=0, key="k", silent=True)
    yield server
    server.terminate()


@pytest.fixture(scope="module")
def tracker(secret):
    tracker = Tracker(port=0)
    yield tracker
    tracker.terminate()


def works(server):
    return rpc.connect("127.0.0.1", server.port, key="k").get_function("testing.echo")(7) == 7


# ---- greetings -------------------------------------------------------------------------------------------------------


def test_who_knows_key_and_secret_is_served_and_nobody_else(server, secret):
    with Stranger(server.port) as peer:
        assert peer.introduce(key="k", secret=secret)
    for key, said, side in [("k", "", "client"), ("k", "open barley", "client"), ("x", secret, "client"),
                            ("", secret, "client"), ("k", secret, "server")]:  # fmt: skip
        with Stranger(server.port) as peer:
            assert not peer.introduce(key=key, secret=said, side=side)
            peer.frame(b"\x09" + text("testing.echo"))
            assert peer.is_hung_up()
    assert works(server)


def test_a_recorded_greeting_opens_nothing(server, secret):
    hello = hello_of(key="k")
    with Stranger(server.port) as peer:
        peer.message(hello)
        proof = proof_of("client", hello, peer.receive()[4:], secret)
        peer.message(proof)
        assert peer.receive()
    with Stranger(server.port) as peer:
        peer.message(hello)
        assert peer.receive()[4:]
        peer.message(proof)
        assert not peer.receive() and peer.is_hung_up()


BROKEN_GREETINGS = {
    "a web browser": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a message of 4 GB": b"\xff\xff\xff\xff" + b"x" * 100,
    "another protocol": struct.pack("<I", len(hello_of(magic=1))) + hello_of(magic=1),
    "another version": struct.pack("<I", len(hello_of(version=9))) + hello_of(version=9),
    "a short random number": struct.pack("<I", len(hello_of(nonce=b"n"))) + hello_of(nonce=b"n"),
    "more than a hello": struct.pack("<I", len(hello_of()) + 1) + hello_of() + b"x",
    "a key of 2^63 bytes": struct.pack("<IIIBQ", 64, SESSION, 1, 0, 1 << 63) + b"x" * 47,
    "an empty message": b"\0\0\0\0",
}


@pytest.mark.parametrize("greeting", BROKEN_GREETINGS)
def test_broken_greetings_end_their_own_connection(server, tracker, greeting):
    for port in (server.port, tracker.port):
        with Stranger(port) as peer:
            peer.send(BROKEN_GREETINGS[greeting])
            assert peer.is_hung_up()
    assert works(server) and rpc.connect_tracker("127.0.0.1", tracker.port).summary() is not None


def test_who_says_nothing_holds_up_nobody(server, tracker):
    with contextlib.ExitStack() as held:
        for port in (server.port, tracker.port):
            for _ in range(50):
                held.enter_context(Stranger(port)).send(b"\x10")  # begins, and never goes on
        assert works(server) and rpc.connect_tracker("127.0.0.1", tracker.port).summary() is not None


# ---- sessions --------------------------------------------------------------------------------------------------------

FORGED_FRAMES = {
    "no code": text(b""),
    "an unknown code": text(b"\xee"),
    "a frame of 2^63 bytes": struct.pack("<Q", 1 << 63) + b"\x01",
    "a frame of 1 GB": struct.pack("<Q", 1 << 30) + b"\x01",
    "half a name": text(struct.pack("<BQ", 9, 100) + b"testing"),
    "noise": text(bytes(range(255, 0, -1))),
}


@pytest.mark.parametrize("frame", FORGED_FRAMES)
def test_a_forged_frame_ends_its_own_session(server, secret, frame):
    other = rpc.connect("127.0.0.1", server.port, key="k")
    with Stranger(server.port) as peer:
        assert peer.introduce(key="k", secret=secret)
        peer.send(FORGED_FRAMES[frame])
        assert peer.is_hung_up()
    assert other.get_function("testing.echo")(3) == 3 and works(server)


def test_a_session_that_is_cut_off_in_a_frame_ends(server, secret):
    with Stranger(server.port) as peer:
        assert peer.introduce(key="k", secret=secret)
        peer.send(struct.pack("<Q", 1000) + b"\x02" * 10)
        peer.socket.shutdown(socket.SHUT_WR)
        assert peer.is_hung_up()
    assert works(server)


# ---- trackers and proxies --------------------------------------------------------------------------------------------

# Codes of a tracker: 3 PUT, 4 REQUEST, 5 UPDATE_INFO.
FORGED_WORDS = {
    "no JSON": "{",
    "no list": "7",
    "no code": "[]",
    "an unknown code": "[77]",
    "a code that is a text": '["put"]',
    "lists in lists": "[" * 60000,
    "a port that is none": json.dumps([3, "board", [70000, "k"], None]),
    "a port that is a text": json.dumps([3, "board", ["x", "k"], None]),
    "a server without an address": json.dumps([3, "board"]),
    "a request without a priority": json.dumps([4, "board"]),
    "facts that are none": json.dumps([5, [1, 2]]),
}


@pytest.mark.parametrize("words", FORGED_WORDS)
def test_a_forged_message_ends_its_own_link_to_the_tracker(tracker, secret, words):
    session = rpc.connect_tracker("127.0.0.1", tracker.port)
    with Stranger(tracker.port) as peer:
        assert peer.introduce(TRACKER, secret=secret)
        peer.message(FORGED_WORDS[words].encode())
        assert peer.is_hung_up()
    assert "board" not in session.summary()["queue_info"]


def test_a_tracker_tells_nothing_to_who_has_no_secret(tracker):
    for said in ("", "open barley"):
        with Stranger(tracker.port) as peer:
            assert not peer.introduce(TRACKER, secret=said)
            peer.message(b"[6]")
            assert peer.is_hung_up()


def test_who_waits_at_a_tracker_and_leaves_takes_no_server(tracker, secret):
    with Stranger(tracker.port) as peer:
        assert peer.introduce(TRACKER, secret=secret)
        peer.message(json.dumps([4, "k", "", 9]).encode())
        session = rpc.connect_tracker("127.0.0.1", tracker.port)
        until = time.monotonic() + PATIENCE
        while session.summary()["queue_info"].get("k", {}).get("pending") != 1:
            assert time.monotonic() < until
    server = rpc.Server(port=0, key="k", tracker_addr=("127.0.0.1", tracker.port), silent=True)
    try:
        assert session.request("k").get_function("testing.echo")(5) == 5
    finally:
        server.terminate()


def test_a_proxy_passes_on_others_beside_what_is_forged(secret):
    proxy = Proxy(port=0)
    server = rpc.Server(port=proxy.port, key="hidden", is_proxy=True, silent=True)
    try:
        for greeting in BROKEN_GREETINGS.values():
            with Stranger(proxy.port) as peer:
                peer.send(greeting)
                assert peer.is_hung_up()
        with Stranger(proxy.port) as peer:  # the server hears it, not the proxy
            assert not peer.introduce(key="hidden", secret="open barley")
        assert rpc.connect("127.0.0.1", proxy.port, key="hidden").get_function("testing.echo")(5) == 5
    finally:
        server.terminate()
        proxy.terminate()
