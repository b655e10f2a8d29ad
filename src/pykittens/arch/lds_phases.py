"""Banks and phases of LDS instructions: which lanes are served together, and over how many banks.

An LDS instruction is served in phases, each by a fixed set of lanes. It costs one pass a phase as long as, within each
phase, no bank is asked for two different dwords; every further dword of the worst bank costs one pass more. The
measured rows hold for naturally aligned accesses. HipKittens (arXiv 2511.08083, table 5) found that on gfx950 they
follow no simple rule, so they are tables and not formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pykittens.arch.fact import Facts, Source, fact

Phases = tuple[tuple[int, ...], ...]

HIPKITTENS = "HipKittens' phase and bank solvers on gfx950 (conflict counters, aligned accesses)"


@dataclass(frozen=True, kw_only=True, eq=False)
class LdsAccess(Facts):
    """How one kind of LDS instruction meets the banks.

    direction: "read", "write", or "transpose" for reads that exchange elements between lanes.
    lane_bytes: bytes each lane moves (4 also stands for 1 and 2).
    banks: banks of 4 bytes the phases are spread over; dword d lies in bank d % banks.
    phases: for each phase the lanes served in it, in ascending order; together all 64, each once.
    """

    name: str
    direction: Literal["read", "write", "transpose"]
    lane_bytes: int
    banks: int
    phases: Phases


def access(
    direction: Literal["read", "write", "transpose"],
    lane_bytes: int,
    banks: int,
    phases: Phases,
    source: Source,
    note: str,
) -> LdsAccess:
    """An `LdsAccess` whose banks and phases share one source."""
    return LdsAccess(
        name=f"{direction}_b{8 * lane_bytes}",
        direction=direction,
        lane_bytes=fact(lane_bytes, "manual", "operand width of the instruction"),
        banks=fact(banks, source, note),
        phases=fact(phases, source, note),
    )


def phases(text: str) -> Phases:
    """Phases from lanes and ranges of them: ``"0-3,20-23 / 4-7,16-19"`` is two phases of eight lanes."""
    return tuple(tuple(lane for span in phase.split(",") for lane in _span(span)) for phase in text.split("/"))


def _span(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def consecutive(lanes_per_phase: int, lanes: int = 64) -> Phases:
    """Phases of neighbouring lanes, in order."""
    return tuple(tuple(range(first, first + lanes_per_phase)) for first in range(0, lanes, lanes_per_phase))


# Eight lanes a phase: 32 banks x 4 bytes serve eight lanes of 16 bytes a clk. gfx950 uses it for 12-byte reads.
EIGHT_LANES = phases(
    "0-3,20-23 / 4-7,16-19 / 8-11,28-31 / 12-15,24-27 / 32-35,52-55 / 36-39,48-51 / 40-43,60-63 / 44-47,56-59"
)
# Sixteen lanes a phase over 64 banks: gfx950's 16-byte reads.
SIXTEEN_LANES = phases("0-3,12-15,20-27 / 4-11,16-19,28-31 / 32-35,44-47,52-59 / 36-43,48-51,60-63")

GFX950_ACCESSES = (
    access("read", 4, 64, consecutive(64), "guess", "one clk an instruction is measured; all 64 lanes, 64 banks"),
    access("read", 8, 64, consecutive(32), "measured", HIPKITTENS),
    access("read", 12, 32, EIGHT_LANES, "measured", HIPKITTENS),
    access("read", 16, 64, SIXTEEN_LANES, "measured", HIPKITTENS),
    access("write", 4, 32, consecutive(32), "guess", "as 8-byte writes: 32 banks, 128 bytes a phase"),
    access("write", 8, 32, consecutive(16), "measured", HIPKITTENS),
    access("write", 12, 32, EIGHT_LANES, "guess", "as 12-byte reads"),
    access("write", 16, 32, EIGHT_LANES, "guess", "as 8-byte writes: 32 banks, 128 bytes a phase; lanes as b96 reads"),
    access("transpose", 8, 64, consecutive(32), "guess", "as 8-byte reads; every tile HipKittens reads so fits it"),
    access("transpose", 12, 32, EIGHT_LANES, "guess", "as 12-byte reads"),
)

GFX942_ACCESSES = (
    access("read", 4, 32, consecutive(32), "guess", "32 banks x 4 bytes serve 32 lanes a clk"),
    access("read", 8, 32, consecutive(16), "guess", "four phases follow from the measured rate; neighbours assumed"),
    access("read", 12, 32, EIGHT_LANES, "guess", "as 16-byte reads"),
    access(
        "read",
        16,
        32,
        phases(
            "0-3,20-23 / 32-35,52-55 / 4-7,16-19 / 36-39,48-51 / 8-11,28-31 / 40-43,60-63 / 12-15,24-27 / 44-47,56-59"
        ),
        "published",
        "IREE's optimization guide gives eight phases and the first three; the other five by symmetry (guess)",
    ),
    access("write", 4, 32, consecutive(32), "guess", "as reads"),
    access("write", 8, 32, consecutive(16), "guess", "as reads, and as measured on gfx950"),
    access("write", 12, 32, EIGHT_LANES, "guess", "as reads"),
    access("write", 16, 32, EIGHT_LANES, "guess", "as reads; the rate of eight phases is measured"),
)
