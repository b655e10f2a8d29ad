"""A program with its modelled cycles: by instruction, by source line and by phase, and the sources they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pykittens.model.cu import REASONS
from pykittens.model.prediction import Prediction

Array = np.ndarray

ISSUING = "issuing"
SHARES = (ISSUING, *REASONS)
"""What a wave's time goes to: columns of `Spent.clk`."""


@dataclass(frozen=True)
class Spent:
    """Where the waves' time goes under one name (an instruction, a line, a phase): wave-clk by `SHARES`."""

    name: str
    clk: Array

    @property
    def total(self) -> float:
        return float(self.clk.sum())

    @property
    def waiting(self) -> float:
        return float(self.clk[1:].sum())

    @property
    def main_reason(self) -> str | None:
        """Why it mostly waits; None if it never does."""
        return REASONS[int(np.argmax(self.clk[1:]))] if self.waiting else None


@dataclass(frozen=True)
class AnnotatedLine:
    """A line of a source file: its text, what it took, and its instructions (indices into the program)."""

    number: int
    text: str
    spent: Spent
    ops: tuple[int, ...]


@dataclass(frozen=True)
class AnnotatedFile:
    """A source file that instructions came from; ``lines`` is whole, or has only lines with time where there is no
    text.
    """

    name: str
    lines: tuple[AnnotatedLine, ...]
    found: bool

    @property
    def total(self) -> float:
        return sum(line.spent.total for line in self.lines)


def spent_by_instruction(prediction: Prediction) -> Array:
    """(instructions, `SHARES`) wave-clk."""
    times = prediction.instructions
    return np.concatenate([times.issue_clk[:, None], times.stall_clk], axis=1)


def spent_by(prediction: Prediction, names: tuple[str | None, ...]) -> list[Spent]:
    """Summed up by the name of each instruction, the most time first; what has no name goes by ""."""
    clk = spent_by_instruction(prediction)
    keys = [name or "" for name in names]
    order = {name: i for i, name in enumerate(dict.fromkeys(keys))}
    sums = np.zeros((len(order), clk.shape[1]))
    np.add.at(sums, [order[key] for key in keys], clk)
    found = [Spent(name, sums[i]) for name, i in order.items() if sums[i].any()]
    return sorted(found, key=lambda each: -each.total)


def spent_by_instructions(prediction: Prediction, most: int) -> list[Spent]:
    """The ``most`` instructions with the most time, each by its address and text."""
    times = prediction.instructions
    clk = spent_by_instruction(prediction)
    hottest = np.argsort(-clk.sum(axis=1), kind="stable")[:most]
    return [Spent(f"{int(times.pc[op]):#x} {times.text[op]}", clk[op]) for op in hottest if clk[op].any()]


def spent_by_phase(prediction: Prediction) -> list[Spent]:
    """In the order of the code."""
    phases = prediction.instructions.phase
    first = {name or "": i for i, name in reversed(list(enumerate(phases)))}
    return sorted(spent_by(prediction, phases), key=lambda each: first[each.name])


def annotated_files(prediction: Prediction, sources: Mapping[str, str]) -> list[AnnotatedFile]:
    """The files that executed instructions came from, the one with the most time first.

    sources: text by the file's name as the line table has it; a file that is missing shows only its line numbers.
    """
    times = prediction.instructions
    ops: dict[str, dict[int, list[int]]] = {}
    for op, place in enumerate(times.line):
        if place is not None:
            name, _, number = place.rpartition(":")
            ops.setdefault(name, {}).setdefault(int(number), []).append(op)
    clk = spent_by_instruction(prediction)
    nothing = np.zeros(clk.shape[1])
    files = []
    for name, by_line in ops.items():
        texts = sources[name].splitlines() if name in sources else []
        numbers = range(1, len(texts) + 1) if texts and max(by_line) <= len(texts) else sorted(by_line)
        lines = []
        for line in numbers:
            mine = tuple(by_line.get(line, ()))
            spent = Spent(f"{name}:{line}", clk[list(mine)].sum(axis=0) if mine else nothing)
            lines.append(AnnotatedLine(line, texts[line - 1] if line <= len(texts) else "", spent, mine))
        files.append(AnnotatedFile(name, tuple(lines), bool(texts)))
    return sorted((each for each in files if each.total), key=lambda each: -each.total)


def executed_stretches(prediction: Prediction, most_left_out: int = 3) -> list[tuple[int, int]]:
    """(first, last + 1) of the stretches of the program that were executed; shorter gaps are shown too."""
    ran = np.flatnonzero(prediction.instructions.executed)
    if not len(ran):
        return []
    breaks = np.flatnonzero(np.diff(ran) > most_left_out + 1)
    firsts, lasts = np.append(ran[:1], ran[breaks + 1]), np.append(ran[breaks], ran[-1:])
    return [(int(a), int(b) + 1) for a, b in zip(firsts, lasts, strict=True)]
