"""Files at URLs, through fsspec: s3, gs, hdfs, http and what else is installed for it.

A file is known by its size, its time and its ETag, where the store gives them. It is read by
ranges, each by one request. Credentials and endpoints are those of the environment, as the store's
own library looks for them, and never part of a URL.

No listing is cached, and each use has an object of its own: an attempt is forked, and the loops of
the libraries do not survive a fork.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

EXTRAS = {
    "s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "http": "http", "https": "http",
    "hdfs": "hdfs", "webhdfs": "hdfs",
}  # fmt: skip
RENAMING = {"hdfs", "webhdfs", "local"}  # a folder gets another name at once
READ_ONLY = {"http", "https"}
HIDDEN = (".", "_")  # as in Hadoop: the `_SUCCESS` of an earlier job is not data


class FoundVersion(NamedTuple):
    """A file as it is now, where it is not on this machine; named as `os.stat` names it."""

    st_size: int
    st_mtime_ns: int
    st_ino: int


class Block(NamedTuple):
    """A part of a file, from byte `start` on, and the hosts that have a copy of it."""

    start: int
    bytes: int
    hosts: tuple[str, ...]


class StoreFailed(OSError):
    """A store cannot be used, or not in this way; `hint` says what to do."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(errno.EREMOTEIO, why)
        self.hint = hint


def is_url(path: str) -> bool:
    """Whether it is not a plain path.

    >>> is_url("s3://b/a"), is_url("a/b:c"), is_url("://")
    (True, False, False)
    """
    return path.find("://") > 0


class Store:
    """The store of a URL. All calls raise OSError; FileNotFoundError if there is no such file."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._size_bytes: int | None = None
        self._files, self._path = _opened(url)

    def versions(self) -> dict[str, FoundVersion]:
        """The present versions of all files that the URL names, by URL, in order.

        It names a file, a folder (its files without hidden ones), or is a glob.
        """
        with _as_os_errors(self.url):
            return {self._url(path): self._version(path) for path in self._matches()}

    def version(self) -> FoundVersion:
        """The present version of the file."""
        with _as_os_errors(self.url):
            found = self._version(self._path)
        self._size_bytes = found.st_size
        return found

    def blocks(self) -> list[Block]:
        """Where the blocks of the file are, in order; none where the store does not say."""
        if not self.url.startswith("webhdfs://"):
            return []
        with _as_os_errors(self.url):
            ask = self._files._call  # noqa: SLF001  # fsspec has no public call for it
            answer = ask("GETFILEBLOCKLOCATIONS", path=self._path)
            found = answer.json()["BlockLocations"]["BlockLocation"]
            return [
                Block(int(one["offset"]), int(one["length"]), tuple(map(str, one["hosts"])))
                for one in found
            ]

    def read_range(self, start: int, end: int) -> bytes:
        """Bytes `start` up to `end`; fewer at the end of the file."""
        size_bytes = self._size_bytes if self._size_bytes is not None else self.version().st_size
        if start >= size_bytes:
            return b""  # a range that is not there is an error for some stores
        wanted_bytes = min(end, size_bytes) - start
        with _as_os_errors(self.url):
            data: bytes = self._files.cat_file(self._path, start=start, end=start + wanted_bytes)
            if len(data) > wanted_bytes:
                raise _no_ranges(self.url)
            if len(data) < wanted_bytes:  # or what a DataNode says instead, read as data by fsspec
                raise StoreFailed(f"{self.url!r}: {len(data)} of {wanted_bytes} bytes arrived")
        return data

    def _version(self, path: str) -> FoundVersion:
        about = self._files.info(path)
        if about.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if about.get("size") is None or not self._serves_ranges(path, about):
            raise _no_ranges(self._url(path))
        return FoundVersion(int(about["size"]), _mtime_ns(about), _etag_number(about))

    def _serves_ranges(self, path: str, about: dict[str, Any]) -> bool:
        if "http" not in self._files.protocol or about.get("partial") is True:
            return True
        # A server need not say so. One that cannot sends everything.
        return about["size"] == 0 or len(self._files.cat_file(path, start=0, end=1)) == 1

    def _matches(self) -> list[str]:
        if not any(mark in self._path for mark in "*?["):
            return self._in_folder() or [self._path]
        found = self._files.glob(self._path, detail=True).items()
        files = [path for path, about in sorted(found) if about["type"] == "file"]
        return files if _is_hidden(self._path) else [one for one in files if not _is_hidden(one)]

    def _in_folder(self) -> list[str]:
        """The files of the folder that the URL names, without hidden ones."""
        if "http" in self._files.protocol:
            return []  # a page with links is not a folder
        if not self._files.isdir(self._path):
            return []
        found = self._files.ls(self._path, detail=True)
        paths = [about["name"] for about in found if about["type"] == "file"]
        return sorted(path for path in paths if not _is_hidden(path))

    def _url(self, path: str) -> str:
        if self.url.endswith(self._path):  # before it is the host, which no path of HDFS has
            return self.url.removesuffix(self._path) + path
        return str(self._files.unstrip_protocol(path))


class StoreFolder:
    """A folder of a store that is written. Files are named relative to it.

    All calls raise OSError; a file appears whole or not at all.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._files, self._path = _opened(url)
        self.renames = url.partition("://")[0] in RENAMING

    def sizes(self, folder: str) -> dict[str, int]:
        """The bytes of each file below a folder, by name relative to that folder."""
        root = self._at(folder)
        with _as_os_errors(self._url), suppress(FileNotFoundError):
            found: dict[str, Any] = self._files.find(root, detail=True)
            return {path[len(root) + 1 :]: about["size"] for path, about in found.items()}
        return {}

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        with _as_os_errors(self._url), suppress(FileNotFoundError):
            content: bytes = self._files.cat_file(self._at(name))
            return content
        return None

    def version(self, name: str) -> str:
        """A text for the present version of a file; "" if there is none."""
        with _as_os_errors(self._url), suppress(FileNotFoundError):
            about = self._files.info(self._at(name))
            return f"{about['size']} {_mtime_ns(about)} {_etag_number(about)}"
        return ""

    def write(self, name: str, content: bytes) -> None:
        """Write a small file."""
        with _as_os_errors(self._url):
            self._make_parent(name)
            self._files.pipe_file(self._at(name), content)

    def put(self, name: str, path: Path) -> None:
        """Copy a file of this machine there."""
        with _as_os_errors(self._url):
            self._make_parent(name)
            self._files.put_file(str(path), self._at(name))

    def copy(self, names: Mapping[str, str]) -> None:
        """Copy files within the store, each to the name that goes with it."""
        with _as_os_errors(self._url):
            self._files.copy(list(map(self._at, names)), list(map(self._at, names.values())))

    def rename(self, name: str, new_name: str) -> None:
        """Give a file or folder another name. Only stores that rename do so at once."""
        with _as_os_errors(self._url):
            self._files.info(self._at(name))  # WebHDFS renames what is not there without a word
            self._make_parent(new_name)
            self._files.mv(self._at(name), self._at(new_name), recursive=True)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that are there."""
        if paths := list(map(self._at, names)):
            with _as_os_errors(self._url):
                self._files.rm(paths)

    def remove_folder(self, name: str) -> None:
        """Remove a folder with all that is in it, if it is there."""
        with _as_os_errors(self._url), suppress(FileNotFoundError):
            self._files.rm(self._at(name), recursive=True)

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}".rstrip("/")

    def _make_parent(self, name: str) -> None:
        if self.renames:  # other stores have no folders
            self._files.makedirs(self._at(name).rpartition("/")[0], exist_ok=True)


def _opened(url: str) -> tuple[Any, str]:
    """The store of a URL, and the path there. Raises OSError."""
    if EXTRAS.get(url.partition("://")[0]) == "gcs":
        # It would ask over gRPC what kind of bucket each is, and gRPC does not survive a fork.
        os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    with _as_os_errors(url):
        import fsspec

        options = {"use_listings_cache": False, "skip_instance_cache": True}
        files, path = fsspec.core.url_to_fs(url, **options)
        return files, path


@contextmanager
def _as_os_errors(url: str) -> Iterator[None]:
    """Inside, all that a store's library raises becomes an OSError with one clear line."""
    try:
        yield
    except StoreFailed:
        raise
    except Exception as error:  # the libraries have classes of their own, for each fault another
        raise _os_error(url, error) from error


def _os_error(url: str, error: Exception) -> OSError:
    if isinstance(error, FileNotFoundError):
        if "Connect" in type(error.__cause__).__name__:
            return StoreFailed(f"{url!r} cannot be reached: {_one_line(error.__cause__)}")
        return FileNotFoundError(errno.ENOENT, f"{url!r} is not there")
    # As s3fs and WebHDFS say it; as gcsfs does, with the reason in its second line; and for 401.
    forbidden, _, why = str(error).partition("\n")
    if isinstance(error, OSError) and forbidden.startswith("Forbidden: "):
        return _denied(url, why)
    if isinstance(error, PermissionError) or getattr(error, "code", None) in {401, "401"}:
        return _denied(url, error)
    if isinstance(error, OSError):
        hint = _LIBHDFS if url.startswith("hdfs:") and "Unable to load" in str(error) else ""
        return StoreFailed(f"{url!r}: {_one_line(error.strerror or error)}", hint)
    return _fault_of_library(url, error)


def _fault_of_library(url: str, error: Exception) -> StoreFailed:
    name, scheme = type(error).__name__, url.partition("://")[0]
    if isinstance(error, ImportError):
        extra = EXTRAS.get(scheme)
        hint = f'run: pip install "sluice[{extra}]"' if extra else f"install what {scheme} needs"
        return StoreFailed(f"{scheme}:// needs a package that is not installed", hint)
    if "Credentials" in name:
        return StoreFailed(f"{url!r}: no credentials were found", _access_hint(url))
    if isinstance(error, ValueError) and "rotocol not known" in str(error):
        known = "use a path, or s3://, gs://, hdfs://, webhdfs://, http://"
        return StoreFailed(f"{scheme}:// is not a known kind of store", known)
    return StoreFailed(f"{url!r}: {name}: {_one_line(error)}")


def _denied(url: str, why: object) -> StoreFailed:
    return StoreFailed(f"{url!r} may not be used: {_one_line(why)}", _access_hint(url))


def _access_hint(url: str) -> str:
    scheme = url.partition("://")[0]
    if scheme == "webhdfs":
        return "name its user in the URL, as in webhdfs://USER@HOST:9870/folder"
    names = _ACCESS.get(EXTRAS.get(scheme, ""), "")
    such = f", such as {names}" if names else ""
    return f"give credentials as the store's own tools take them{such}"


def _is_hidden(path: str) -> bool:
    return path.rpartition("/")[2].startswith(HIDDEN)


def _one_line(error: object) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0]


def _no_ranges(url: str) -> StoreFailed:
    return StoreFailed(f"the server of {url!r} does not serve parts of it", "download it first")


_LIBHDFS = "set JAVA_HOME, HADOOP_HOME and CLASSPATH, or use webhdfs://HOST:9870/, without libhdfs"
# What says who may use a store.
_ACCESS = {
    "s3": "AWS_ACCESS_KEY_ID", "gcs": "GOOGLE_APPLICATION_CREDENTIALS", "hdfs": "HADOOP_USER_NAME",
}  # fmt: skip


def _mtime_ns(about: dict[str, Any]) -> int:
    """When the file was written, as far as the store knows."""
    for name in ("LastModified", "mtime", "updated", "modified", "created"):
        value = about.get(name)
        if isinstance(value, datetime):
            return int(value.timestamp() * 1e9)
        if isinstance(value, int | float):
            return int(value * 1e9)
    return int(about.get("modificationTime", 0)) * 1_000_000  # of WebHDFS, in milliseconds


def _etag_number(about: dict[str, Any]) -> int:
    """A number for the content, where the store gives an ETag: it takes the place of an inode."""
    tag = about.get("ETag") or about.get("etag") or about.get("ino") or ""
    return int.from_bytes(hashlib.sha256(str(tag).encode()).digest()[:7]) if tag else 0
