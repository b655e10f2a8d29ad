"""docs/findings.md: every code is explained there, with an example that has that finding and no other."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.sim.assembled import code_object, pointers

from pykittens.asm.code_object import read
from pykittens.check.codes import CODES
from pykittens.check.findings import Report
from pykittens.check.static import check

from .assembled import report
from .launched import launched

_DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in re.split(r"^### ", _DOCUMENTATION, flags=re.M)[1:]}
_EXAMPLE = re.compile(r"^```asm( run| whole|)\n(.*?)^```$", flags=re.M | re.S)


def found(code: str, kind: str, example: str) -> Report:
    """What the checks say of an example: of bytes, of bytes without an end of their own, or of a run of two waves."""
    if kind == " whole":
        padded = read(code_object(example, "gfx950", pointers(1), ()))
        (section,) = padded.text
        return check(replace(padded, text=(replace(section, data=section.data[: 4 * len(example.splitlines())]),)))
    if kind != " run":
        return report(example, lds_bytes=1024)
    memory, other = np.zeros(4096, np.uint32), np.zeros(4096, np.uint32)
    outputs = {"memory": memory[:128]} if code.endswith("-output") else {}
    grid = 2 if code in ("workgroup-race", "rewritten-output") else 1
    return launched(example, grid=grid, args=[memory, other], outputs=outputs, overread=4096, lds_bytes=4096)


def test_every_code_is_explained_with_one_example() -> None:
    assert list(SECTIONS) == list(CODES)
    assert {code: len(_EXAMPLE.findall(part)) for code, part in SECTIONS.items()} == dict.fromkeys(CODES, 1)


@pytest.mark.parametrize("code", SECTIONS)
def test_the_example_has_that_finding_and_no_other(code: str) -> None:
    ((kind, example),) = _EXAMPLE.findall(SECTIONS[code])
    counts = found(code, kind, example).counts()
    assert code in counts
    others = [other for other in counts if other != code and CODES[other].severity != "note"]
    # Two workgroups that write the same bytes are also a race, of which the same value makes a note.
    assert others == (["workgroup-race"] if code == "rewritten-output" else [])
