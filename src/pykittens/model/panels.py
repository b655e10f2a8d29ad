"""Panels from addresses: which workgroups read the same memory, from where each of them starts to load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pykittens.asm.execution import Survey, WorkgroupTrace
from pykittens.isa.instruction import Instruction

from .caches import NOT_READ, Panels
from .costs import LINE, Costs, lane_addresses, touched_lines

Array = np.ndarray
MAX_WAVES = 16
"""Of a workgroup: 1024 work-items."""
Key = tuple[int, int, int]
"""Of a load: its wave, the buffer that it reads, and how many others of this wave began to read that buffer before it.
Workgroups that run copies of a loop have other instructions for what is the same load."""


def panels_of(survey: Survey, traces: Sequence[WorkgroupTrace], costs: Sequence[Costs]) -> list[Panels]:
    """The panels that the surveyed workgroups read, each as large as the traced workgroups' on average.

    A load's panel is known by its first address, which is its label. Loads that tell workgroups apart in the same way
    count as one.
    """
    firsts = _first_addresses(survey, _Buffers(traces[0]))
    sizes = _sizes(traces, costs)
    rows: dict[bytes, list[float]] = {}
    for key, labels in firsts.items():
        nbytes, requested = sizes.get(key, (0.0, 0.0))
        entry = rows.setdefault(labels.tobytes(), [0.0, 0.0])  # waves that read the same panel
        entry[0], entry[1] = max(entry[0], nbytes), entry[1] + requested
    merged: dict[bytes, tuple[Array, list[float]]] = {}
    for raw, (nbytes, requested) in rows.items():
        addresses = np.frombuffer(raw, np.int64)
        partition = np.unique(addresses, return_inverse=True)[1]
        told = _canonical(partition)
        told[addresses == NOT_READ] = NOT_READ
        _, entry = merged.setdefault(told.tobytes(), (addresses, [0.0, 0.0]))
        entry[0], entry[1] = entry[0] + nbytes, entry[1] + requested
    return [Panels(addresses, *both) for addresses, both in merged.values() if both[1]]


def _canonical(partition: Array) -> Array:
    """Numbered by first appearance."""
    _, first, which = np.unique(partition, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered: Array = rank[which]
    return numbered


class _Buffers:
    """Tells which buffer an access reads: by its descriptor or base, as lanes may be out of range."""

    def __init__(self, trace: WorkgroupTrace) -> None:
        regions = sorted(trace.regions)
        self.starts = np.array([start for start, _, _ in regions], np.int64)
        self.ends = np.array([start + size for start, size, _ in regions], np.int64)

    def numbers(self, instruction: Instruction, records: Any, addresses: Array) -> Array:
        """The buffer's number for each record, (n,); -1 where there is none."""
        bases = lane_addresses(instruction, {**records, "rows": np.zeros_like(records["rows"])})[0][:, 0]
        found = self._at(bases)
        return np.where(found >= 0, found, self._at(addresses))

    def _at(self, addresses: Array) -> Array:
        which = np.searchsorted(self.starts, addresses, "right") - 1
        inside = (which >= 0) & (addresses < self.ends[which])
        return np.where(inside, which, -1)


def _ranks(groups: Array) -> Array:
    """How many of the same group stand before each; ``groups`` (n,) in the order executed."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))
    return ranks


def _first_addresses(survey: Survey, buffers: _Buffers) -> dict[Key, Array]:
    """The first address in each workgroup, int64 (workgroups,); `NOT_READ` where it did not load."""
    place = survey.workgroup.astype(np.int64) * MAX_WAVES + survey.wave
    begins = np.sort(np.unique(place * len(survey.instructions) + survey.op, return_index=True)[1])
    begins = begins[np.array([_is_load(each) for each in survey.instructions], bool)[survey.op[begins]]]
    ops, addresses, numbers = survey.op[begins], *np.zeros((2, len(begins)), np.int64)
    for op in map(int, np.unique(ops)):
        instruction = survey.instructions[op]
        assert instruction is not None
        mine = np.flatnonzero(ops == op)
        records = _records(survey, begins[mine])
        addresses[mine] = np.maximum(0, lane_addresses(instruction, records)[0][:, 0])
        numbers[mine] = buffers.numbers(instruction, records, addresses[mine])
    ranks = _ranks(place[begins] * (len(buffers.starts) + 1) + numbers + 1)
    found: dict[Key, Array] = {}
    keys = np.stack([survey.wave[begins], numbers, ranks])
    different, which = np.unique(keys, axis=1, return_inverse=True)
    for i, (wave, number, rank) in enumerate(different.T.tolist()):
        mine = np.flatnonzero(which.reshape(-1) == i)
        labels = np.full(survey.workgroups, NOT_READ, np.int64)
        labels[survey.workgroup[begins[mine]]] = addresses[mine]
        found[wave, number, rank] = labels
    return found


def _records(survey: Survey, mine: Array) -> dict[str, Any]:
    return {
        "rows": survey.row[mine][:, :, None], "base": survey.base[mine], "soffset": survey.soffset[mine],
    }  # fmt: skip


def _sizes(traces: Sequence[WorkgroupTrace], costs: Sequence[Costs]) -> dict[Key, tuple[float, float]]:
    """(different bytes, bytes asked of the L2) of a load, the mean of the traced workgroups that have it."""
    found: dict[Key, list[tuple[float, float]]] = {}
    for trace, each in zip(traces, costs, strict=True):
        for key, both in _sizes_of(trace, each).items():
            found.setdefault(key, []).append(both)
    means = {key: np.mean(each, axis=0).tolist() for key, each in found.items()}
    return {key: (nbytes, requested) for key, (nbytes, requested) in means.items()}


def _sizes_of(trace: WorkgroupTrace, costs: Costs) -> dict[Key, tuple[float, float]]:
    """Of one workgroup. A line that several loads touch belongs to the first."""
    names = _names(trace, costs)
    keys: list[Key] = []
    requested: list[float] = []
    lines, owners = [], []
    for each in costs.accesses:
        if each.stores:
            continue
        touched = touched_lines(each)
        for wave in range(len(trace.waves)):
            mine = each.wave == wave
            if (each.op, wave) not in names:
                continue
            lines.append(np.unique(touched[mine][touched[mine] >= 0]))
            owners.append(np.full(len(lines[-1]), len(keys)))
            keys.append(names[each.op, wave])
            requested.append(float(LINE * each.lines[mine].sum()))
    if not keys:
        return {}
    _, first = np.unique(np.concatenate(lines), return_index=True)
    own = np.bincount(np.concatenate(owners)[first], minlength=len(keys))
    return {key: (float(LINE * n), asked) for key, n, asked in zip(keys, own, requested, strict=True)}


def _names(trace: WorkgroupTrace, costs: Costs) -> dict[tuple[int, int], Key]:
    """(op, wave) of a traced workgroup's loads to what they are called elsewhere."""
    buffers = _Buffers(trace)
    found: dict[tuple[int, int], Key] = {}
    for number, wave in enumerate(trace.waves):
        memory = wave.memory[wave.memory["active"] != 0]
        ops = wave.ops[memory["step"].astype(np.int64)].astype(np.int64)
        seen: dict[int, int] = {}
        for i in np.sort(np.unique(ops, return_index=True)[1]).tolist():
            instruction = trace.instructions[ops[i]]
            if instruction is None or not _is_load(instruction):
                continue
            records = {name: memory[name][i : i + 1] for name in ("rows", "base", "soffset")}
            active = int(memory["active"][i])
            address = lane_addresses(instruction, records)[0][:, (active & -active).bit_length() - 1]
            buffer = int(buffers.numbers(instruction, records, address)[0])
            found[int(ops[i]), number] = (number, buffer, seen.get(buffer, 0))
            seen[buffer] = seen.get(buffer, 0) + 1
    return found


def _is_load(instruction: Instruction | None) -> bool:
    """Whether it is a vector load from memory that workgroups may share; atomics count as stores."""
    access = instruction.definition.access if instruction is not None else None
    return access is not None and access.space in ("buffer", "global", "flat") and access.kind == "load"
