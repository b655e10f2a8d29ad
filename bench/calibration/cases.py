"""Every published launch whose schedule is known, with the model's figures beside its name."""

from __future__ import annotations

from .gemm_cases import gluon_gemms, gluon_gfx942, hipkittens_gemms, hipkittens_gfx942
from .launches import Case, Chip
from .order_cases import orders_alone, table_4
from .other_cases import attention, lds_micro, memory_bound

NOT_REBUILT = {
    "hipBLASLt MAF": "only the library's commit is named; published schedules of this tile span 70 to 98 % in the loop",
    "HK grid_micro 256x256x64": "the window that the other windows' figures are relative to",
    "gluon FAv3 baseline": "the order of its clusters' instructions is not published",
}
"""Why kernels of published.csv have no case."""


def all_cases() -> list[Case]:
    """Every case, in the order of its family."""
    mi355x, mi300x, mi325x = Chip.of("gfx950", "MI355X"), Chip.of("gfx942", "MI300X"), Chip.of("gfx942", "MI325X")
    return [
        *lds_micro(mi355x), *hipkittens_gemms(mi355x), *table_4(mi355x), *orders_alone(mi355x), *gluon_gemms(mi355x),
        *gluon_gfx942(mi300x), *hipkittens_gfx942(mi325x), *attention(mi355x), *memory_bound(mi355x),
    ]  # fmt: skip
