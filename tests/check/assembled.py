"""Reports on small kernels in assembly."""

from __future__ import annotations

from typing import Any

from tests.sim.assembled import code_object, pointers

from pykittens.check.findings import Report
from pykittens.check.static import check

ARCHS = ("gfx942", "gfx950")


def report(body: str, arch: str = "gfx950", **options: Any) -> Report:
    """What the static check says of a kernel that ends after ``body``; s[0:1] is the kernarg, v0 the work-item."""
    settings = {"vgprs": 128, "agprs": 128, "max_workgroup_size": 256, **options}
    return check(code_object(f"{body}\n  s_endpgm\n", arch, pointers(1), tuple(sorted(settings.items()))))


def codes(body: str, arch: str = "gfx950", **options: Any) -> list[str]:
    """The codes of the errors and warnings."""
    return [f.code for f in report(body, arch, **options).findings if f.severity != "note"]


def loads(count: int, first: int = 8) -> str:
    """So many loads, one register each."""
    return "".join(f"  global_load_dword v{first + n}, v0, s[0:1]\n" for n in range(count))
