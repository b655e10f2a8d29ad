"""Element types of tiles, with the NumPy dtype that stands for each in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from pykittens.errors import BuildError, InputError


@dataclass(frozen=True)
class DType:
    """``bits`` per element in memory; ``numpy`` is the array dtype that launches accept for it.

    ``arch``: the only chip whose matrix cores read this encoding, None if all do. ``matrix``: its name among MFMAs.
    """

    name: str
    bits: int
    numpy: Any
    arch: str | None = None
    matrix: str = ""

    @property
    def bytes(self) -> int:
        return self.bits // 8

    def __repr__(self) -> str:
        return self.name


bf16 = DType("bf16", 16, np.dtype(ml_dtypes.bfloat16), matrix="bf16")
f16 = DType("f16", 16, np.dtype(np.float16), matrix="f16")
f32 = DType("f32", 32, np.dtype(np.float32), matrix="f32")
i32 = DType("i32", 32, np.dtype(np.int32))
# The same MFMA reads OCP's encodings on gfx950 and the older FNUZ ones on gfx942 (manual).
e4m3fn = DType("e4m3fn", 8, np.dtype(ml_dtypes.float8_e4m3fn), "gfx950", "fp8")
e5m2 = DType("e5m2", 8, np.dtype(ml_dtypes.float8_e5m2), "gfx950", "bf8")
e4m3fnuz = DType("e4m3fnuz", 8, np.dtype(ml_dtypes.float8_e4m3fnuz), "gfx942", "fp8")
e5m2fnuz = DType("e5m2fnuz", 8, np.dtype(ml_dtypes.float8_e5m2fnuz), "gfx942", "bf8")

DTYPES = {t.name: t for t in (bf16, f16, f32, i32, e4m3fn, e5m2, e4m3fnuz, e5m2fnuz)}


def get(name: str | DType, arch: str | None = None) -> DType:
    """A dtype by name; an unknown one is an `InputError` that lists what there is.

    With ``arch``, a dtype in another chip's encoding is a `BuildError`.
    """
    if not isinstance(name, DType):
        if not isinstance(name, str) or name not in DTYPES:
            raise InputError("unknown-dtype", f"dtype {name!r} is not known", fix=f"use one of {', '.join(DTYPES)}")
        name = DTYPES[name]
    if arch is not None and name.arch not in (None, arch):
        own = next(t for t in DTYPES.values() if t.arch == arch and t.matrix == name.matrix)
        raise BuildError(
            "dtype-arch", f"{name} is the encoding of {name.arch}; {arch} reads the same bytes as {own}",
            fix=f"convert to {own}, or build for {name.arch}",
        )  # fmt: skip
    return name
