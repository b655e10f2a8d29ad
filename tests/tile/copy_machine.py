"""A stand-in for the lowering that runs copies from global memory to LDS at once, one wave on an LDS image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.tile.lds_machine import ARITHMETIC, LdsMachine

from pykittens.isa import Reg, lookup
from pykittens.isa.registers import m0
from pykittens.tile.expression import Int, evaluate

STRIDE = 4096
"""Bytes from row to row of the tensor that is copied from."""


class CopyMachine(LdsMachine):
    """One of ``waves`` waves; the tensor's element at byte b holds the number b // size, of which rows begin at 0.

    Descriptors are taken as they are: the window starts at the tensor's first element and nothing is out of range.
    """

    def __init__(self, arch: str, memory: np.ndarray, wave: int, waves: int, size: int) -> None:
        super().__init__(arch, memory, wave)
        self.waves, self.size = waves, size
        self.m0 = 0
        self.skip_to: str | None = None
        self.program = SimpleNamespace(new_label=self._new_label, label=self._label)
        self.written = np.zeros(len(memory), int)
        """How often each byte of LDS was written."""
        self._labels = 0

    def _new_label(self, stem: str) -> str:
        self._labels += 1
        return f"{stem}_{self._labels}"

    def _label(self, name: str) -> None:
        if self.skip_to == name:
            self.skip_to = None

    def branch_unless(self, condition: Int, label: str) -> None:
        if self.skip_to is None and not evaluate(condition, self.inputs):
            self.skip_to = label

    @contextmanager
    def inner(self) -> Iterator[None]:
        yield

    def uniform(self, value: Int) -> int:
        return int(evaluate(value, self.inputs))

    def keep(self, key: object, depth: int, file: str, count: int, build: Callable[..., None], align: int = 1) -> Reg:
        return Reg(file, 64, count)

    uniform_register = uniform

    def lane_beside(self, first: Int, apart: Int) -> np.ndarray:
        return self.lane(first) + self.uniform(apart)

    @contextmanager
    def computed(self, value: Int) -> Iterator[np.ndarray]:
        yield self.lane(value).copy()

    def repeat(self, times: int, body: Callable[[Int], None]) -> None:
        for turn in range(times):
            body(turn)

    def ins(self, name: str, *operands: Any, **modifiers: Any) -> None:
        if self.skip_to is not None:
            return
        access = lookup(name).access
        if name in ARITHMETIC:
            self.compute(name, *operands)
        elif access is None:
            target, a, b = operands
            assert target == m0
            self.m0 = a + b
        elif access.space == "buffer":
            self._load_global(access, operands, modifiers)
        else:
            address, offset = operands[0], modifiers.get("offset", 0)
            np.add.at(self.written, (address + offset)[:, None] + np.arange(access.bytes), 1)
            super().ins(name, *operands, offset=offset)

    def _load_global(self, access: Any, operands: tuple[Any, ...], modifiers: dict[str, Any]) -> None:
        data, address, _, _ = operands
        bytes_ = (self.value(address) + modifiers.get("offset", 0))[:, None] + np.arange(access.bytes)
        ids = (bytes_ // self.size).astype("<u4")
        contents = (ids >> 8 * (bytes_ % self.size)).astype(np.uint8)
        if not modifiers.get("lds"):
            self._load(data, contents, access)
            return
        places = self.m0 + np.arange(64)[:, None] * (16 if access.bytes > 4 else 4) + np.arange(access.bytes)
        self.memory[places] = contents
        np.add.at(self.written, places, 1)


def tensor_ids(rows: int, cols: int, size: int) -> np.ndarray:
    """What the tensor's window holds: (rows, cols), numbers modulo 2^(8 size)."""
    return ((np.arange(rows)[:, None] * STRIDE + np.arange(cols) * size) // size).astype(f"<u{size}")
