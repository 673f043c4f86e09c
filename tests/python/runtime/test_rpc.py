"""Sessions with servers of other processes: files, functions, modules, tensors, errors, time limits, and who gets nothing.

What docs/rpc.md shows is tried here.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import error, relay, rpc, te
from tessera.contrib import cc, graph_executor
from tessera.rpc.proxy import Proxy
from tessera.rpc.tracker import Tracker

BIN = Path(tessera.__file__).parent / "bin"


def functions_of_the_server():
    import tessera

    @tessera.register_func("test_rpc.add_one")
    def add_one(x):
        return x + 1

    @tessera.register_func("test_rpc.fail")
    def fail(message):
        raise ValueError(message)

    @tessera.register_func("test_rpc.adder")
    def adder(x):
        return tessera.runtime.convert(lambda y: x + y)

    @tessera.register_func("test_rpc.crash")
    def crash():
        import os

        os.abort()

    @tessera.register_func("test_rpc.sleep")
    def sleep(seconds):
        import time

        time.sleep(seconds)


@pytest.fixture(scope="module")
def server():
    server = rpc.Server(port=0, key="x1", silent=True, server_init_callback=functions_of_the_server)
    yield server
    server.terminate()


@pytest.fixture
def remote(server):
    return rpc.connect("127.0.0.1", server.port, key="x1")


def library(folder, n=1024, target="llvm"):
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    module = tessera.build(te.create_schedule(b.op), [a, b], target, name="add_one")
    path = str(folder / "lib.so")
    module.export_library(path)
    return path


def test_values_travel(remote):
    echo = remote.get_function("testing.echo")
    for value in (7, 2.5, "text", bytearray(b"bytes"), None):
        assert echo(value) == value
    assert tuple(echo(tessera.runtime.ShapeTuple([2, 3]))) == (2, 3)
    assert echo(remote.cpu(0)) == remote.cpu(0)
    assert remote.get_function("test_rpc.adder")(40)(2) == 42


def test_an_error_of_the_server_keeps_its_class_and_message(remote):
    with pytest.raises(ValueError, match="Error caught from RPC call: no such thing") as caught:
        remote.get_function("test_rpc.fail")("no such thing")
    assert isinstance(caught.value, error.RPCError)
    with pytest.raises(AttributeError, match="has no function 'none.such'"):
        remote.get_function("none.such")
    assert remote.get_function("test_rpc.add_one")(1) == 2  # the session goes on


def test_what_cannot_travel_is_named(remote):
    with pytest.raises(TypeError, match="argument 1 is .*Array.*cannot travel by RPC"):
        remote.get_function("testing.echo")(1, [1, 2])
    with pytest.raises(ValueError, match=r"argument 0 is on cpu\(0\), not on a device of the session"):
        remote.get_function("testing.echo")(tessera.nd.array(np.zeros(3)))
    with pytest.raises(TypeError, match="argument 0 is a function of this process"):
        remote.get_function("testing.echo")(tessera.get_global_func("testing.nop"))


def test_files_of_a_session(remote):
    data = os.urandom(20 << 20)  # more than a piece
    remote.upload(data, "folder/data.bin")
    assert remote.download("folder/data.bin") == data
    assert remote.listdir() == "folder"
    remote.remove("folder/data.bin")
    with pytest.raises(OSError, match=r"data\.bin"):
        remote.download("folder/data.bin")


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", ""])
def test_no_name_leads_out_of_the_folder(remote, name):
    with pytest.raises(ValueError, match="is no name of a file of the session"):
        remote.get_function("tvm.rpc.server.upload")(name, bytearray(b"x"))


def test_tensors_live_on_the_server(remote):
    data = np.random.rand(300, 70).astype("float32")
    x = tessera.nd.array(data, remote.cpu())
    assert str(x.device) == f"remote[{remote._tbl_index}]:cpu(0)"
    y = x.copyto(remote.cpu())
    np.testing.assert_array_equal(y.numpy(), data)
    np.testing.assert_array_equal(remote.get_function("testing.echo")(x).numpy(), data)
    assert remote.cpu().exist


def test_a_module_runs_and_is_measured_there(remote, tmp_path):
    remote.upload(library(tmp_path))
    module = remote.load_module("lib.so")
    a = tessera.nd.array(np.arange(1024, dtype="float32"), remote.cpu())
    b = tessera.nd.empty((1024,), "float32", remote.cpu())
    module["add_one"](a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy() + 1)
    assert module.time_evaluator("add_one", remote.cpu(), number=3, repeat=2)(a, b).mean > 0
    with pytest.raises(AttributeError):
        module["none"]


def test_an_archive_of_objects_is_linked_there(remote, tmp_path):
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    path = str(tmp_path / "lib.tar")
    tessera.build(te.create_schedule(b.op), [a, b], "llvm", name="twice").export_library(path)
    remote.upload(path)
    x = tessera.nd.array(np.ones(8, "float32"), remote.cpu())
    out = tessera.nd.empty((8,), "float32", remote.cpu())
    remote.load_module("lib.tar")["twice"](x, out)
    assert out.numpy().tolist() == [2] * 8


def test_a_model_runs_there(remote, tmp_path):
    x = relay.var("x", shape=(2, 3))
    w = np.random.rand(4, 3).astype("float32")
    built = relay.build(tessera.IRModule.from_expr(relay.nn.relu(relay.nn.dense(x, relay.const(w)))), "llvm")
    path = str(tmp_path / "model.so")
    built.export_library(path)
    remote.upload(path)
    model = graph_executor.GraphModule(remote.load_module("model.so")["default"](remote.cpu()))
    data = np.random.rand(2, 3).astype("float32") - 0.5
    model.set_input("x", data)
    model.run()
    np.testing.assert_allclose(model.get_output(0).numpy(), np.maximum(data @ w.T, 0), rtol=1e-5)
    assert model.benchmark(remote.cpu(), number=1, repeat=2).mean > 0


def test_a_graph_is_created_there(remote, tmp_path):
    x = relay.var("x", shape=(4,))
    graph, lib, _ = relay.build(tessera.IRModule.from_expr(x + relay.const(1.0)), "llvm")
    lib.export_library(str(tmp_path / "graph.so"))
    remote.upload(str(tmp_path / "graph.so"))
    model = graph_executor.create(graph, remote.load_module("graph.so"), remote.cpu())
    model.run(x=np.zeros(4, "float32"))
    assert model.get_output(0).numpy().tolist() == [1] * 4


def test_a_crash_ends_its_session_only(server, remote):
    other = rpc.connect("127.0.0.1", server.port, key="x1")
    with pytest.raises(error.RPCError, match="closed the connection"):
        other.get_function("test_rpc.crash")()
    with pytest.raises(error.RPCError, match="has ended"):
        other.get_function("test_rpc.add_one")
    assert remote.get_function("test_rpc.add_one")(1) == 2


def test_a_session_ends_after_its_time(server):
    late = rpc.connect("127.0.0.1", server.port, key="x1", session_timeout=1)
    start = time.time()
    with pytest.raises(error.RPCSessionTimeoutError, match="took longer than its session_timeout"):
        late.get_function("test_rpc.sleep")(20)
    assert time.time() - start < 10


def test_a_forged_frame_ends_its_session_only(server, remote):
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", struct.pack("<I", 1 << 31), os.urandom(200)):
        with socket.create_connection(("127.0.0.1", server.port)) as peer:
            peer.sendall(garbage)
            peer.shutdown(socket.SHUT_WR)
            peer.settimeout(5)
            with contextlib.suppress(ConnectionResetError):
                assert peer.recv(100) == b""
    assert remote.get_function("test_rpc.add_one")(1) == 2


def test_a_client_without_the_key_gets_nothing(server):
    for key in ("", "x2"):
        with pytest.raises(error.RPCError, match="is not matching the key"):
            rpc.connect("127.0.0.1", server.port, key=key)


def test_a_client_without_the_secret_gets_nothing(monkeypatch):
    monkeypatch.setenv("TESSERA_RPC_SECRET", "open sesame")
    server = rpc.Server(host="0.0.0.0", port=0, key="k", silent=True)
    assert rpc.connect("127.0.0.1", server.port, key="k").get_function("testing.echo")(1) == 1
    for secret in ("", "open barley"):
        monkeypatch.setenv("TESSERA_RPC_SECRET", secret)
        with pytest.raises(error.RPCError, match="does not accept our secret; TESSERA_RPC_SECRET must be the same"):
            rpc.connect("127.0.0.1", server.port, key="k")
    server.terminate()


def test_beyond_this_machine_a_secret_is_needed(monkeypatch):
    monkeypatch.delenv("TESSERA_RPC_SECRET", raising=False)
    with pytest.raises(RuntimeError, match="Set TESSERA_RPC_SECRET"):
        rpc.Server(host="0.0.0.0", port=0)


def test_nobody_listens():
    with pytest.raises(error.RPCError, match="cannot connect to 127.0.0.1:1: .*is a server running there"):
        rpc.connect("127.0.0.1", 1)


def test_a_tracker_gives_each_server_to_one_client():
    tracker = Tracker(port=0)
    address = ("127.0.0.1", tracker.port)
    servers = [rpc.Server(port=0, key="board", tracker_addr=address, silent=True) for _ in range(2)]
    session = rpc.connect_tracker(*address)

    def wait_until(free):
        end = time.time() + 20
        while session.summary()["queue_info"].get("board", {}).get("free", 0) != free:
            assert time.time() < end, session.summary()
            time.sleep(0.1)

    wait_until(free=2)
    assert "server:board" in session.text_summary()
    first = session.request("board")
    second = session.request("board", session_timeout=60)
    assert first.get_function("testing.echo")("a") == "a" and second.get_function("testing.echo")("b") == "b"
    wait_until(free=0)
    with pytest.raises(error.RPCError, match="is not matching the key"):
        rpc.connect("127.0.0.1", servers[0].port, key="board")  # only through the tracker
    del first, second
    wait_until(free=2)  # listed again
    assert session.request_and_run("board", lambda remote: remote.get_function("testing.echo")(3)) == 3
    text = subprocess.run(
        [sys.executable, "-m", "tessera.exec.query_rpc_tracker", "--port", str(tracker.port)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "Queue Status" in text and "board" in text
    for service in (*servers, tracker):
        service.terminate()


def test_a_server_behind_a_proxy():
    proxy = Proxy(port=0)
    server = rpc.Server(port=proxy.port, key="hidden", is_proxy=True, silent=True)
    for value in (1, 2):  # one session after another
        assert rpc.connect("127.0.0.1", proxy.port, key="hidden").get_function("testing.echo")(value) == value
    for service in (server, proxy):
        service.terminate()


def test_a_program_that_serves_a_session(tmp_path):
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    module = tessera.build(te.create_schedule(b.op), [a, b], "llvm", name="inc")
    path = str(tmp_path / "server.minrpc")
    module.export_library(path, rpc.with_minrpc(cc.create_executable))
    for program in (path, Path(path).read_bytes(), BIN / "tessera-rpc-server"):
        session = rpc.PopenSession(program)
        session.upload(library(tmp_path))
        x = tessera.nd.array(np.zeros(1024, "float32"), session.cpu())
        session.load_module("lib.so")["add_one"](x, x)
        assert x.numpy().sum() == 1024
    with pytest.raises(RuntimeError, match="does not exist"):
        rpc.PopenSession(str(tmp_path / "none"))


@pytest.mark.parametrize("program", [[str(BIN / "tessera-rpc-server")], [str(BIN / "tessera"), "rpc-server"]])
def test_servers_without_python(tmp_path, program):
    process = subprocess.Popen([*program, "--port", "0", "--key", "native"], stderr=subprocess.PIPE, text=True)
    try:
        port = int(process.stderr.readline().rsplit(":", 1)[1])
        remote = rpc.connect("127.0.0.1", port, key="native")
        remote.upload(library(tmp_path))
        a = tessera.nd.array(np.zeros(1024, "float32"), remote.cpu())
        remote.load_module("lib.so")["add_one"](a, a)
        assert a.numpy().sum() == 1024
    finally:
        process.kill()
        process.communicate()


def test_wrong_flags_of_a_server_are_named():
    program = str(BIN / "tessera-rpc-server")
    done = subprocess.run([program, "--prot", "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--prot is no flag" in done.stderr
    done = subprocess.run([program, "--host", "0.0.0.0"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Set TESSERA_RPC_SECRET" in done.stderr


@pytest.mark.parametrize("is_local", [False, True])
def test_functions_to_try_a_session_with_are_everywhere(is_local):
    server = rpc.Server()
    session = rpc.LocalSession() if is_local else rpc.connect("127.0.0.1", server.port)
    get = session.get_function
    assert (get("rpc.test.addone")(10), get("rpc.test.strcat")("abc", 11)) == (11, "abc:11")
    assert get("rpc.test.runtime_str_concat")("abc", "def") == "abcdef"
    assert get("rpc.test.add_to_lhs")(10)(12) == 22
    get("rpc.test.remote_array_func")(tessera.nd.array(np.ones((3, 4)), session.cpu(0)))
    about = get("rpc.test.remote_return_nd")
    array = about("get_arr")()
    array.copyfrom(np.ones(10, "float32"))
    assert (about("get_arr_elem")(array, 3), about("get_elem")(3)) == (1, 0)
    with pytest.raises((ValueError, error.TVMError), match="there is no 'size' of an array"):
        about("size")
    with pytest.raises((ValueError, error.TVMError), match="abc"):
        get("rpc.test.except")("abc")
    server.terminate()
