"""Importing pykittens is quick, and every public name is where the table says."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pykittens as pk


def test_import_loads_no_room_and_no_heavy_library() -> None:
    code = (
        "import sys, pykittens; "
        "print(*sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'llvmlite', 'ml_dtypes', 'rich', 'typer'}), "
        "*sorted(m for m in sys.modules if m.startswith('pykittens.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("name", pk.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(pk, name) is not None
    assert name in dir(pk)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'gfx11'"):
        pk.gfx11  # noqa: B018
