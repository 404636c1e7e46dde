"""Zip and tar archives, read in place: nothing of them is ever written to disk.

What is not to be trusted is refused with its reason: names and links that lead out of the archive, members
that unpack to far more than the archive holds, damage, passwords.
"""

from __future__ import annotations

import gzip
import io
import lzma
import posixpath
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ragkit.frames import some

_NAMED = re.compile(r".*\.(zip|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))", re.I)
_GZIP = b"\x1f\x8b"
# An archive member that unpacks to far more than it holds is a trap, not a data set.
_LARGEST = 16 << 30
_RATIO = 1000
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile)


class TarTree:
    """The files of a tar archive by their normalised names, and what each folder holds; links are none."""

    def __init__(self, archive: Path, members: list[tarfile.TarInfo]):
        self.archive = archive
        self.files = {posixpath.normpath(m.name): m for m in members if m.isreg()}
        self.folders: dict[str, dict[str, None]] = {"": {}}
        for name in self.files:
            while name:
                parent, last = posixpath.split(name)
                self.folders.setdefault(parent, {})[last] = None
                name = parent


class TarPath:
    """A file or folder inside a tar archive, plain or packed: what zipfile.Path is for a zip.

    Parameters
    ----------
    tree : TarTree
        The archive.
    at : str
        The name inside; ``""`` is the whole archive.
    """

    def __init__(self, tree: TarTree, at: str = ""):
        self.tree, self.at = tree, at

    def __truediv__(self, name: str) -> TarPath:
        return TarPath(self.tree, posixpath.join(self.at, name))

    def __str__(self) -> str:
        return posixpath.join(str(self.tree.archive), self.at)

    @property
    def name(self) -> str:
        """The last part of its name."""
        return posixpath.basename(self.at) or self.tree.archive.name

    def is_file(self) -> bool:
        """Whether it is a file of the archive."""
        return self.at in self.tree.files

    def is_dir(self) -> bool:
        """Whether files of the archive lie below it."""
        return self.at in self.tree.folders

    def iterdir(self) -> Iterator[TarPath]:
        """Give what lies in this folder."""
        return (self / name for name in self.tree.folders[self.at])

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open the file for reading; closing it closes the archive."""
        tar = tarfile.open(self.tree.archive)  # noqa: SIM115 (closed with the member)
        return _Member(tar, self.tree.files[self.at])  # type: ignore[return-value]


class _Member(io.BufferedReader):
    def __init__(self, tar: tarfile.TarFile, info: tarfile.TarInfo):
        super().__init__(tar.extractfile(info))  # type: ignore[arg-type]
        self.tar = tar

    def close(self) -> None:
        super().close()
        self.tar.close()


Readable = Path | zipfile.Path | TarPath


def enter(path: Path) -> Readable:
    """Give the root of an archive; what is none as it is."""
    if not path.is_file() or path.suffix == ".npz":
        return path
    if zipfile.is_zipfile(path):
        return _zip(path)
    if _is_tar(path):
        return _tar(path)
    if ending := _NAMED.fullmatch(path.name):
        raise ValueError(f"{path.name} is damaged, or no archive: it cannot be read as {ending[1].lower()}.")
    return path


def _is_tar(path: Path) -> bool:
    try:
        return tarfile.is_tarfile(path)
    except (*_DAMAGE, OSError):  # a packed file that ends too early
        return False


def _zip(path: Path) -> zipfile.Path:
    with damage_named(path, "archive"):
        root = zipfile.Path(path)
    _refuse_outside(path, [info.filename for info in root.root.infolist()])
    return root


def _tar(path: Path) -> TarPath:
    with damage_named(path, "archive"), tarfile.open(path) as tar:
        members = tar.getmembers()
    links = [_target(m) for m in members if m.islnk() or m.issym()]
    _refuse_outside(path, [*(m.name for m in members), *links])
    return TarPath(TarTree(path, members))


def _target(link: tarfile.TarInfo) -> str:
    """Say where a link leads: a hard one counts from the root, a symbolic one from its own folder."""
    beside = "" if link.islnk() else posixpath.dirname(link.name)
    return posixpath.normpath(posixpath.join(beside, link.linkname))


def _refuse_outside(path: Path, names: list[str]) -> None:
    unsafe = [n for n in names if n.startswith(("/", "\\")) or ".." in re.split(r"[\\/]", n)]
    if unsafe:
        raise ValueError(
            f"{path.name} holds names that leave its folder: {some(unsafe)}; it is not to be trusted."
        )


def check_member(path: Readable) -> None:
    """Refuse a member that unpacks to far more than the archive holds."""
    if isinstance(path, zipfile.Path):
        info = path.root.getinfo(path.at)
        size, packed = info.file_size, info.compress_size
    elif isinstance(path, TarPath):
        size, packed = path.tree.files[path.at].size, path.tree.archive.stat().st_size
    else:
        return
    if size > _LARGEST or size > _RATIO * max(packed, 1 << 20):
        raise ValueError(f"{path} would unpack to {size:,} bytes; unpack it yourself if you trust it.")


@contextmanager
def damage_named(path: Any, what: str) -> Iterator[None]:
    """Say which file is damaged, or needs what cannot be given."""
    try:
        yield
    except _DAMAGE as error:
        raise ValueError(f"{path.name} is a damaged {what}: {error}.") from None
    except RuntimeError as error:  # of zipfile: a password, or a way of packing that it lacks
        if not re.search("encrypted|compression", str(error)):
            raise
        raise ValueError(f"{path.name} cannot be unpacked: {error}.") from None


@contextmanager
def open_bytes(path: Readable) -> Iterator[IO[bytes]]:
    """Open a file for reading, through gzip where its first bytes say so."""
    check_member(path)
    what = "gzip file" if isinstance(path, Path) else "file of an archive"
    with damage_named(path, what), io.BufferedReader(path.open("rb")) as raw:  # type: ignore[arg-type, type-var]
        if raw.peek(2)[:2] == _GZIP:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield raw  # type: ignore[misc]
