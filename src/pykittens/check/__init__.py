"""Proofs and detectors over final bytes: waits, wait states, races, registers, bounds, banks.

The room is itself the check: ``pk.check("x.co")`` gives a `findings.Report`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .findings import Report


class _Check(ModuleType):
    """This module; Python gives a room and a function of one name no other way to live side by side."""

    def __call__(self, source: Any, *tensors: Any, kernel: str | None = None, arch: str | None = None) -> Report:
        """Check a code object over every path of its kernels, without running it; see `static.check`.

        With ``tensors``, an `Executable` also runs on them in checked mode, and the report has the bank conflicts of
        its LDS accesses: ``pk.check(exe, A, B, C).lds["Bs read"].degree``.
        """
        from .static import check

        if tensors:
            report: Report = source.checked(*tensors)
            return report
        return check(source, kernel, arch)


sys.modules[__name__].__class__ = _Check
