"""``pk lds``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tile.lds_machine import LAYOUTS

from pykittens.arch import gfx950
from pykittens.check.phase_solver import Counter, VirtualDevice, measure, write_counters
from pykittens.tile import shared_shape

from .command import pk, pk_json, refusal


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are not cut."""
    monkeypatch.setenv("COLUMNS", "200")


def test_alone_it_prints_table_5_and_every_pair() -> None:
    result = pk("lds")
    assert result.exit_code == 0
    for words in ("ds_read_b128", "measured", "assumed", "rt_16x32_4", "reads in col layout", "writes in row layout"):
        assert words in result.stdout


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_json_has_phases_and_pairs(arch: str) -> None:
    whole, status = pk_json("lds", "--arch", arch)
    assert (status, whole["arch"]) == (0, arch)
    assert len(whole["phases"]) == (10 if arch == "gfx950" else 8)
    pair = next(
        p
        for p in whole["pairs"]
        if (p["direction"], p["register"], p["layout"], p["shared"]) == ("read", "16x32", "row", "16x32")
    )
    assert pair["instructions"] == ["ds_read_b128"]
    assert pair["degree"] == (1 if arch == "gfx950" else 2)
    shown = {(p["direction"], p["register"], p["layout"], p["shared"]) for p in whole["pairs"]}
    assert len(shown) == len(whole["pairs"]) == 2 * len(LAYOUTS) * len(shared_shape.SHAPES)


def test_one_instruction() -> None:
    found, status = pk_json("lds", "--instruction", "ds_write_b64")
    assert status == 0
    assert [(row["banks"], len(row["phases"]), row["known"]) for row in found["phases"]] == [(32, 4, "measured")]
    assert "0-3,12-15,20-27" in pk("lds", "--instruction", "ds_read_b128").stdout


def test_one_shared_shape() -> None:
    found, _ = pk_json("lds", "--shape", "st_16x32")
    row = next(p for p in found["pairs"] if (p["direction"], p["register"], p["layout"]) == ("read", "16x32", "row"))
    assert (row["degree"], row["degree_without_swizzle"]) == (1, 2)
    assert "ds_read_b64_tr_b16" in pk("lds", "--shape", "16x32").stdout
    solved, _ = pk_json("lds", "--shape", "16x64")
    degrees = {
        (each["register"], each["layout"]): each["degree"] for each in solved["pairs"] if each["direction"] == "read"
    }
    assert all(degrees[name, layout] == 1 for name in ("16x32", "32x16") for layout in ("row", "col"))


def test_one_pair_lane_by_lane() -> None:
    text = pk("lds", "--shape", "16x32", "--register", "rt_16x32").stdout
    assert "0a*  16b* 32c* 48d*" in text
    assert "512  40d 56c 8b  24a" in text
    found, _ = pk_json("lds", "--shape", "16x16_swizzled", "--register", "16x16", "--write")
    plain, swizzled = found["pairs"]
    assert (plain["degree"], swizzled["degree"]) == (4, 1)
    assert swizzled["accesses"][0]["addresses"][:5] == [0, 32, 64, 96, 128 + 8]
    assert [phase["passes"] for phase in plain["accesses"][0]["phases"]] == [4, 4, 4, 4]


def test_solving() -> None:
    found, status = pk_json("lds", "--solve", "16x32", "--access", "read rt_16x32 row", "--access", "copy 16")
    assert (status, found["conflict_free"], found["xors"], found["proof"]) == (0, True, [[1024, 9, 5]], "")
    pair = ("--access", "read 16x32 row", "--access", "write 16x16  row")
    found, status = pk_json("lds", "--solve", "16x32", *pair)
    assert (status, found["conflict_free"]) == (0, False)
    assert found["cannot_share"] == ["ds_read_b128 of rt_16x32 row", "ds_write_b64 of rt_16x16 row"]
    assert found["known"]["ds_write_b64 of rt_16x16 row"] == "measured"
    assert (
        "cannot share a tile: ds_read_b128 of rt_16x32 row keeps 16 bytes together"
        in pk("lds", "--solve", "16x32", *pair).stdout
    )
    halves, _ = pk_json("lds", "--solve", "16x32", "--access", "read 16x32 row 8", "--access", "write 16x16 row")
    assert halves["conflict_free"]


def test_phases_from_conflicts(tmp_path: Path) -> None:
    found, status = pk_json("lds", "--derive", "virtual", "--instruction", "ds_read_b96")
    assert (status, found["instructions"][0]["agrees"], found["instructions"][0]["banks"]) == (0, True, 32)
    assert pk("lds", "--derive", "virtual", "--instruction", "ds_read_b64").exit_code == 0
    counters = measure(VirtualDevice(gfx950), "read", 16)
    path = tmp_path / "counters.csv"
    write_counters(path, {"ds_read_b128": counters})
    assert pk("lds", "--derive", path).exit_code == 0
    # On a device with 32 banks the table is wrong, and the command says so.
    write_counters(path, {"ds_read_b128": [
        c if c.probe == "lanes" else Counter("dwords", 0, c.second, int(c.second % 32 == 0)) for c in counters
    ]})  # fmt: skip
    found, status = pk_json("lds", "--derive", path)
    assert (status, found["instructions"][0]["agrees"], found["instructions"][0]["banks"]) == (1, False, 32)


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    for i, args in enumerate((
        (),
        ("--instruction", "ds_read_b128"),
        ("--shape", "16x32", "--register", "16x32"),
        ("--solve", "16x32", "--access", "copy 16", "--access", "read 16x32 row"),
    )):  # fmt: skip
        path = tmp_path / f"{i}.png"
        assert pk("lds", *args, "--png", path).exit_code == 0
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--arch", "gfx90a"), "unknown arch 'gfx90a'"),
        (("--instruction", "v_mov_b32"), "v_mov_b32 reads and writes no LDS"),
        (("--instruction", "ds_read_b7"), "no instruction is named 'ds_read_b7'"),
        (("--arch", "gfx942", "--instruction", "ds_read_b64_tr_b16"), "does not exist on gfx942"),
        (("--shape", "7x7"), "no shared shape '7x7'"),
        (("--shape", "16x32", "--register", "9x9"), "no register base shape '9x9'"),
        (("--shape", "16x32", "--register", "16x32", "--layout", "up"), "layout 'up' is neither"),
        (("--register", "16x32"), "--register without --shape"),
        (("--access", "copy 16"), "--access without --solve"),
        (("--solve", "16x32", "--shape", "16x32"), "--solve and --shape are given; use one of them"),
        (("--solve", "16"), "--solve 16; give rows and columns"),
        (("--solve", "16x32"), "no access patterns are given"),
        (("--solve", "16x32", "--access", "look 3"), "--access 'look 3'; use 'read SHAPE LAYOUT [BYTES]'"),
        (("--solve", "16x32", "--access", "read 16x32 row 5"), "5 bytes a lane, the elements allow 16"),
        (("--solve", "16x32", "--access", "copy 16", "--png", "x.png"), "a picture is of a register shape's access"),
        (("--shape", "16x32", "--png", "x.png"), "a picture is of one pair; add --register"),
        (("--derive", "virtual", "--png", "x.png"), "--derive draws nothing"),
        (("--derive", "none.csv"), "cannot read counters from none.csv"),
        (("--bytes", "3"), "elements of 3 bytes; use 1, 2 or 4"),
    ],
)
def test_wrong_input_is_one_line(args: tuple[str, ...], words: str) -> None:
    assert words in refusal("lds", *args)


def test_counters_of_another_instruction(tmp_path: Path) -> None:
    path = tmp_path / "counters.csv"
    write_counters(path, {"ds_read_b64": [Counter("lanes", 0, 1, 1)]})
    assert "has no counters of ds_read_b128; it has ds_read_b64" in refusal(
        "lds", "--derive", path, "--instruction", "ds_read_b128"
    )
    assert "no counter of lanes 0 and 2" in refusal("lds", "--derive", path)
