"""The disk cache of generated code: blobs by kind and key, checked when read.

It lies in ``PYKITTENS_CACHE`` if that is set (empty: no cache), else in the user's cache directory. A missing, damaged
or unreadable entry is a miss; a directory that cannot be written is no cache. Neither is an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from pathlib import Path

_MAGIC = b"pykittens cache 1\n"
_DIGEST = 16


def directory() -> Path | None:
    """Where entries are kept; None if there is no cache."""
    chosen = os.environ.get("PYKITTENS_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "pykittens"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "pykittens" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "pykittens"


def load(kind: str, key: bytes) -> bytes | None:
    """The blob stored under ``key`` (which must hold everything that the blob depends on), or None."""
    path = _path(kind, key)
    if path is None:
        return None
    try:
        entry = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST
    blob = entry[start:]
    if entry[:start] != _MAGIC + _digest(key + blob):
        return None
    return blob


def store(kind: str, key: bytes, blob: bytes) -> None:
    """Keep a blob; readers in other processes see all of it or nothing."""
    path = _path(kind, key)
    if path is None:
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + _digest(key + blob) + blob)
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _path(kind: str, key: bytes) -> Path | None:
    root = directory()
    return None if root is None else root / kind / hashlib.blake2b(key, digest_size=_DIGEST).hexdigest()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()
