"""Packages and .npz files that are damaged, forged or hostile give errors, and nothing is written anywhere."""

import io
import json
import os
import struct
import tarfile
import zipfile

import numpy as np
import pytest
import tessera
from tessera import relay

read_tar = tessera.get_global_func("runtime.ReadTar")
read_package = tessera.get_global_func("runtime.ReadPackage")
load_package = tessera.get_global_func("runtime.LoadPackage")
load_npz = tessera.get_global_func("runtime.LoadNpz")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with nothing in it but what a test puts there; the test ends with all else as it was."""
    inside, elsewhere = tmp_path / "inside", tmp_path / "elsewhere"
    inside.mkdir()
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("untouched")
    monkeypatch.chdir(inside)
    yield inside
    assert [f.name for f in elsewhere.iterdir()] == ["precious"]
    assert (elsewhere / "precious").read_text() == "untouched"
    assert sorted(f.name for f in tmp_path.iterdir()) == ["elsewhere", "inside"]


def tar_of(path, *members):
    """Members are (name, bytes), or TarInfo."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as out:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                out.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                out.addfile(info, io.BytesIO(member[1]))
    return str(path)


def link(name, target, kind):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


# ---- packages --------------------------------------------------------------------------------------------------------

CPU = {"cpu": "x86-64", "needs": [], "weights": {}}


@pytest.mark.parametrize(
    ("portable", "message"),
    [
        (b"no json", "at byte|JSON|json"),
        (b"[]", "is not an object"),
        (b"{}", "has no list of CPUs"),
        (b'{"cpus": []}', "names no CPU"),
        (b'{"cpus": [1]}', "has a CPU that is not an object"),
        (json.dumps({"cpus": [{**CPU, "cpu": 1}]}).encode(), "something other than a text"),
        (json.dumps({"cpus": [{**CPU, "needs": [{}]}]}).encode(), "something other than a text"),
        (json.dumps({"cpus": [{**CPU, "weights": []}]}).encode(), "has no weights"),
        (
            json.dumps({"cpus": [{**CPU, "cpu": "../x86-64"}]}).encode(),
            "no code for ../x86-64, which its portable.json",
        ),
        (json.dumps({"cpus": [CPU]}).encode(), "no code for x86-64, which its portable.json names"),
    ],
)
def test_a_portable_package_that_does_not_say_what_it_holds_is_rejected(folder, portable, message):
    path = tar_of(folder / "m.tar", ("portable.json", portable), ("mod.so", b""))
    with pytest.raises(ValueError, match=message):
        load_package(path)


@pytest.mark.parametrize(
    ("weight", "message"), [(None, "weights/0"), (b"", "0 bytes are left"), (b"x" * 64, "does not begin")]
)
def test_weights_of_a_portable_package_are_not_believed(folder, weight, message):
    cpu = {**CPU, "weights": {"p0": "weights/0"}}
    members = [
        ("portable.json", json.dumps({"cpus": [cpu]}).encode()),
        ("x86-64/mod.json", b"{}"),
        ("x86-64/mod.so", b""),
    ]
    path = tar_of(folder / "m.tar", *members, *([("weights/0", weight)] if weight is not None else []))
    with pytest.raises(ValueError, match=message):
        read_package(path)


@pytest.mark.parametrize(
    "name", ["../elsewhere/precious", "/etc/passwd", "a/../../elsewhere/precious", "..", "sub/..", "a" * 5000 + "/.."]
)
def test_members_that_escape_are_rejected(folder, name):
    path = tar_of(folder / "m.tar", (name, b"gone"))
    for read in (read_tar, read_package, load_package):
        with pytest.raises(ValueError, match="outside the folder"):
            read(path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_rejected(folder, kind):
    path = tar_of(folder / "m.tar", link("mod.so", "../elsewhere/precious", kind), ("mod.so", b"gone"))
    with pytest.raises(ValueError, match="is a link"):
        load_package(path)


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_devices_are_rejected(folder, kind):
    with pytest.raises(ValueError, match="no plain file"):
        load_package(tar_of(folder / "m.tar", link("mod.so", "", kind)))


@pytest.mark.parametrize("names", [("mod.so", "mod.so"), ("mod.so", "./mod.so"), ("mod.json", "a/../mod.json")])
def test_a_name_that_comes_twice_is_rejected(folder, names):
    with pytest.raises(ValueError, match="comes twice|outside"):
        load_package(tar_of(folder / "m.tar", *((name, b"x") for name in names)))


def test_a_size_that_the_file_does_not_hold_is_rejected(folder):
    path = tar_of(folder / "m.tar", ("mod.so", b"x" * 600))
    data = bytearray((folder / "m.tar").read_bytes())
    for size in (b"77777777777\0", b"\x80" + b"\xff" * 11, b"\x80" + b"\0" * 3 + b"\xff" * 8, b"-0000000001\0"):
        data[124:136] = size
        data[148:156] = b" " * 8
        data[148:156] = b"%06o\0 " % sum(data[:512])
        (folder / "m.tar").write_bytes(data)
        with pytest.raises(ValueError, match="announces"):
            load_package(path)


def test_a_package_is_rejected_at_every_length_that_it_is_cut_to(folder):
    tar_of(folder / "m.tar", ("mod.so", b"x" * 600), ("mod.json", b"{}"), ("mod.params", b""))
    data = (folder / "m.tar").read_bytes()
    end = 512 * 6  # of the last member; ten kilobytes of padding follow
    for length in range(0, end, 64):
        (folder / "cut.tar").write_bytes(data[:length])
        with pytest.raises((ValueError, OSError)):
            load_package(str(folder / "cut.tar"))


def test_flipped_bits_never_crash(folder):
    tar_of(folder / "m.tar", ("mod.so", b"x" * 600), ("mod.json", b'{"nodes": []}'), ("mod.params", b""))
    data = (folder / "m.tar").read_bytes()[: 512 * 9]
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(data)
        for offset in rng.integers(0, len(data), 3):
            damaged[offset] ^= 1 << int(rng.integers(8))
        (folder / "m.tar").write_bytes(damaged)
        with pytest.raises((ValueError, OSError, RuntimeError)):  # mod.so is no library in any case
            load_package(str(folder / "m.tar"))


def test_members_without_meaning_are_not_run(folder):
    path = tar_of(folder / "m.tar", ("mod.so", b"\x7fELF garbage"), ("mod.json", b"{}"), ("mod.params", b""))
    with pytest.raises(OSError, match=r"m.tar/mod.so"):
        load_package(path)
    with pytest.raises(ValueError, match="no package of a model"):
        load_package(tar_of(folder / "m.tar", ("readme.txt", b"hello")))


def test_forged_parameters_and_graphs_in_a_package_are_errors(folder):
    x = relay.var("x", shape=(2,))
    library = relay.build(tessera.IRModule.from_expr(relay.Function([x], x + relay.const(1.0))), "llvm")
    library.get_lib().export_library(str(folder / "mod.so"))
    code = (folder / "mod.so").read_bytes()
    for graph, params in (
        (b"{" * 100_000, b""),
        (b"[1, 2]", b""),
        (library.get_graph_json().encode(), b"\xff" * 100),
        (library.get_graph_json().replace("float32", "float99").encode(), b""),
    ):
        path = tar_of(folder / "m.tar", ("mod.so", code), ("mod.json", graph), ("mod.params", params))
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            load_package(path)["default"](tessera.cpu())


@pytest.mark.parametrize("name", ["/dev/zero", "."])
def test_what_is_no_file_is_rejected(folder, name):
    with pytest.raises((ValueError, OSError)):
        load_package(name)


def test_a_pipe_is_not_waited_for(folder):
    os.mkfifo(folder / "pipe")
    for read in (read_tar, load_npz):
        with pytest.raises(OSError, match="no plain file"):
            read(str(folder / "pipe"))


# ---- .npz ------------------------------------------------------------------------------------------------------------


def npy(shape="(2,)", descr="<f4", data=b"\0" * 8):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def npz_of(path, *members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as out:
        for name, data in members:
            out.writestr(name, data)
    return str(path)


def test_what_numpy_writes_is_read(folder):
    x, y = np.arange(6, dtype="float32").reshape(2, 3), np.zeros((0, 1 << 40), "int8")
    for save in (np.savez, np.savez_compressed):
        save(folder / "x.npz", x=x, y=y)
        got = load_npz(str(folder / "x.npz"))
        np.testing.assert_array_equal(got["x"].numpy(), x)
        assert tuple(got["y"].shape) == y.shape


@pytest.mark.parametrize("name", ["../elsewhere/precious.npy", "/tmp/x.npy", "a/../../x.npy", "a\\..\\x.npy"])
def test_names_that_escape_are_rejected(folder, name):
    with pytest.raises(ValueError, match="leads out"):
        load_npz(npz_of(folder / "x.npz", (name, npy())))


def test_names_that_come_twice_are_rejected(folder):
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="comes twice"):
        load_npz(npz_of(folder / "x.npz", ("x.npy", npy()), ("x.npy", npy())))


@pytest.mark.parametrize(
    "data, why",
    [
        (npy(shape="(1000000000000,)"), "does not fit"),
        (npy(shape="(4611686018427387904, 4611686018427387904)"), "more bytes than can be counted"),
        (npy(shape="(-1,)"), "header"),
        (npy(shape="(" + "1, " * 5000 + ")"), "header"),
        (npy(shape="(2"), "header"),
        (npy(descr="|O"), "can run any code"),
        (npy(descr="<U4"), "strings"),
        (npy(descr="<c8"), "complex"),
        (b"\x93NUMPY\x01\x00\xff\xff", "too short|announces"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "announces"),
        (b"", "too short"),
    ],
)
def test_forged_headers_of_arrays_are_rejected(folder, data, why):
    with pytest.raises(ValueError, match=why):
        load_npz(npz_of(folder / "x.npz", ("x.npy", data)))


def announcing(path, sizes):
    """A .npz file whose directory announces other sizes for its members."""
    names = [f"x{i}.npy" for i in range(len(sizes))]
    npz_of(path, *((name, npy(data=b"\0" * 1000)) for name in names), compression=zipfile.ZIP_DEFLATED)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    for name, size in zip(names, sizes):
        data[at + 24 : at + 28] = struct.pack("<I", size)
        at += 46 + len(name)
    path.write_bytes(data)
    return str(path)


def test_a_bomb_is_rejected_before_it_takes_memory(folder):
    with pytest.raises(ValueError, match="cannot hold"):
        load_npz(announcing(folder / "x.npz", [1 << 30]))
    with pytest.raises(ValueError, match="looks like a bomb"):
        load_npz(announcing(folder / "x.npz", [0xFFFFFF00, 0xFFFFFF00]))


def test_a_member_that_unpacks_to_another_size_is_rejected(folder):
    for size in (500, 1001, 1200):
        with pytest.raises(ValueError, match="does not fit|too short|fewer bytes|more bytes"):
            load_npz(announcing(folder / "x.npz", [size]))


def test_members_that_share_their_bytes_are_rejected(folder):
    """Many names for one member: a megabyte of them would unpack to terabytes."""
    large = npy(f"({1 << 20},)", data=b"\0" * (4 << 20))
    path = npz_of(folder / "x.npz", ("x0.npy", large), ("x1.npy", large), compression=zipfile.ZIP_DEFLATED)
    data = bytearray((folder / "x.npz").read_bytes())
    directory = data.index(b"PK\x01\x02")
    first = bytes(data[directory : directory + 46])
    end = bytearray(data[data.rindex(b"PK\x05\x06") :])
    rows = b"".join(first + b"%02d.npy" % i for i in range(60))
    end[8:12] = struct.pack("<HH", 60, 60)
    end[12:16] = struct.pack("<I", len(rows))
    (folder / "x.npz").write_bytes(bytes(data[:directory]) + rows + bytes(end))
    with pytest.raises(ValueError, match="share their bytes"):
        load_npz(path)


def test_an_npz_is_rejected_at_every_length_that_it_is_cut_to(folder):
    np.savez_compressed(folder / "x.npz", x=np.arange(100), y=np.ones((3, 3)))
    data = (folder / "x.npz").read_bytes()
    for length in range(0, len(data), 7):
        (folder / "cut.npz").write_bytes(data[:length])
        with pytest.raises(ValueError):
            load_npz(str(folder / "cut.npz"))


def test_flipped_bits_of_an_npz_never_crash(folder):
    np.savez_compressed(folder / "x.npz", x=np.arange(100), y=np.ones((3, 3)))
    data = (folder / "x.npz").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(data)
        damaged[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        (folder / "flipped.npz").write_bytes(damaged)
        try:
            load_npz(str(folder / "flipped.npz"))
        except Exception as error:
            assert isinstance(error, (ValueError, OSError)), repr(error)
