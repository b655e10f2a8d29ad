"""pykittens: tile kernels for AMD CDNA GPUs in Python, and the machine code they become, run on any computer.

Names are loaded on first use, so that ``import pykittens as pk`` stays fast and a tool that only reads code objects
never pays for the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> module that defines it. A module mapped to itself is a room of the package (pk.arch).
_PUBLIC = {
    "Executable": "pykittens.executable",
    "Kernel": "pykittens.tile",
    "Prediction": "pykittens.modelled_launch",
    "argument": "pykittens.tile",
    "arrive": "pykittens.tile",
    "at_launch": "pykittens.tile",
    "barrier": "pykittens.tile",
    "bf16": "pykittens.tile",
    "best_order": "pykittens.grid_choice",
    "block": "pykittens.tile",
    "cdiv": "pykittens.tile",
    "check": "pykittens.check",
    "compile": "pykittens.executable",
    "e4m3fn": "pykittens.tile",
    "e4m3fnuz": "pykittens.tile",
    "e5m2": "pykittens.tile",
    "e5m2fnuz": "pykittens.tile",
    "f16": "pykittens.tile",
    "f32": "pykittens.tile",
    "gl": "pykittens.tile",
    "grid": "pykittens.schedule",
    "i32": "pykittens.tile",
    "kernel": "pykittens.tile",
    "kernels": "pykittens.kernels",
    "lane": "pykittens.tile",
    "load": "pykittens.tile",
    "load_scalar": "pykittens.tile",
    "loop": "pykittens.tile",
    "maximum": "pykittens.tile",
    "minimum": "pykittens.tile",
    "mma_AB": "pykittens.tile",
    "mma_ABt": "pykittens.tile",
    "mma_AtB": "pykittens.tile",
    "mma_AtBt": "pykittens.tile",
    "phase": "pykittens.tile",
    "predict": "pykittens.modelled_launch",
    "read_arguments": "pykittens.tile",
    "require_equal": "pykittens.tile",
    "rt": "pykittens.tile",
    "rv": "pykittens.tile",
    "scalar": "pykittens.tile",
    "schedule": "pykittens.schedule",
    "select": "pykittens.tile",
    "sim": "pykittens.sim",
    "st": "pykittens.tile",
    "staging": "pykittens.tile",
    "store": "pykittens.tile",
    "tile": "pykittens.tile",
    "wait_for": "pykittens.tile",
    "wave": "pykittens.tile",
    "when": "pykittens.tile",
    "workspace": "pykittens.tile",
    "zero": "pykittens.tile",
    "Error": "pykittens.errors",
    "arch": "pykittens.arch",
    "errors": "pykittens.errors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'pykittens' has no attribute {name!r}")
    module = import_module(_PUBLIC[name])
    value = module if module.__name__ == f"pykittens.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
