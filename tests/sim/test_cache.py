"""The disk cache: what goes in comes out whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pykittens.sim import cache


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYKITTENS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _entry(place: Path) -> Path:
    (found,) = [path for path in place.rglob("*") if path.is_file()]
    return found


def test_round_trip(place: Path) -> None:
    assert cache.load("alu", b"key") is None
    cache.store("alu", b"key", b"object")
    assert cache.load("alu", b"key") == b"object"
    assert cache.load("alu", b"other key") is None
    assert cache.load("native", b"key") is None
    cache.store("alu", b"key", b"newer")
    assert cache.load("alu", b"key") == b"newer"
    assert [path.name for path in place.iterdir()] == ["alu"]
    assert len(list((place / "alu").iterdir())) == 1, "nothing temporary is left"


@pytest.mark.parametrize("where", (0, 20, 33, 40, -1))
def test_a_flipped_bit_is_a_miss(place: Path, where: int) -> None:
    cache.store("alu", b"key", b"object code")
    damaged = bytearray(_entry(place).read_bytes())
    damaged[where] ^= 4
    _entry(place).write_bytes(damaged)
    assert cache.load("alu", b"key") is None


@pytest.mark.parametrize("size", (0, 10, 34, 40))
def test_a_truncated_entry_is_a_miss(place: Path, size: int) -> None:
    cache.store("alu", b"key", b"object code")
    _entry(place).write_bytes(_entry(place).read_bytes()[:size])
    assert cache.load("alu", b"key") is None


def test_an_entry_of_another_key_is_a_miss(place: Path) -> None:
    cache.store("alu", b"one", b"object one")
    first = _entry(place)
    content = first.read_bytes()
    first.unlink()
    cache.store("alu", b"two", b"object two")
    _entry(place).write_bytes(content)
    assert cache.load("alu", b"two") is None


def test_no_cache_when_it_is_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYKITTENS_CACHE", "")
    monkeypatch.chdir(tmp_path)
    cache.store("alu", b"key", b"object")
    assert cache.load("alu", b"key") is None
    assert cache.directory() is None
    assert not os.listdir(tmp_path)


def test_a_place_that_cannot_be_written_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    monkeypatch.setenv("PYKITTENS_CACHE", str(file / "cache"))
    cache.store("alu", b"key", b"object")
    assert cache.load("alu", b"key") is None


def test_the_user_directory_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PYKITTENS_CACHE", raising=False)
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    place = cache.directory()
    assert place is not None
    assert tmp_path in place.parents
    assert "pykittens" in place.parts
