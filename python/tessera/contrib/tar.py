"""Archives of object files."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Sequence

from ..runtime import _ffi_api


def tar(output: str, files: Sequence[str] | str) -> None:
    """Packs files, without their folders, into an archive. Equal inputs give equal bytes."""
    names = [files] if isinstance(files, str) else list(files)
    with tarfile.open(output, "w", format=tarfile.GNU_FORMAT) as archive:
        for path in names:
            entry = archive.gettarinfo(path, os.path.basename(path))
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
            with open(path, "rb") as file:
                archive.addfile(entry, file)
    _ffi_api.SealFile(output)


tar.output_format = "tar"  # type: ignore[attr-defined]


def untar(tar_file: str, directory: str) -> None:
    """Unpacks plain files. Entries that would land outside `directory`, links and devices are rejected."""
    _ffi_api.CheckSeal(tar_file, "archive")
    try:
        _unpack(tar_file, os.path.realpath(directory))
    except tarfile.TarError as error:
        raise ValueError(f"cannot unpack the archive {tar_file}: {error}") from error


def _unpack(tar_file: str, root: str) -> None:
    with tarfile.open(tar_file) as archive:
        for entry in archive.getmembers():
            target = os.path.realpath(os.path.join(root, entry.name))
            if not (entry.isfile() or entry.isdir()) or os.path.commonpath([root, target]) != root:
                raise ValueError(f"{tar_file}: will not unpack the entry {entry.name!r}")
            if entry.isdir():
                os.makedirs(target, exist_ok=True)
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            source = archive.extractfile(entry)
            assert source is not None
            with source, open(target, "wb") as file:
                file.write(source.read())


def normalize_file_list_by_unpacking_tars(temp: object, file_list: Sequence[str]) -> list[str]:
    """The files, with those inside archives in place of the archives."""
    out: list[str] = []
    for i, path in enumerate(file_list):
        if not path.endswith(".tar"):
            out.append(path)
            continue
        folder = temp.relpath(f"libs{i}")  # type: ignore[attr-defined]
        os.makedirs(folder)
        untar(path, folder)
        out += [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return out
