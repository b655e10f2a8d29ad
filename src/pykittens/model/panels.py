"""Panels from addresses: which workgroups read the same memory, from where each of them starts to load."""

from __future__ import annotations

from typing import Any

import numpy as np

from pykittens.asm.execution import Survey, WorkgroupTrace

from .caches import Panels
from .costs import LINE, Costs, lane_addresses, touched_lines

Array = np.ndarray


def panels_of(survey: Survey, trace: WorkgroupTrace, costs: Costs) -> list[Panels]:
    """The panels that the surveyed workgroups read, each as large as the traced workgroup's.

    A load's panel is known by its first address, which is its label. Loads that tell workgroups apart in the same way
    count as one.
    """
    firsts = _first_addresses(survey)
    sizes = _sizes(trace, costs)
    rows: dict[bytes, list[float]] = {}
    for key, labels in firsts.items():
        nbytes, requested = sizes.get(key, (0.0, 0.0))
        entry = rows.setdefault(labels.tobytes(), [0.0, 0.0])  # waves that read the same panel
        entry[0], entry[1] = max(entry[0], nbytes), entry[1] + requested
    merged: dict[bytes, tuple[Array, list[float]]] = {}
    for raw, (nbytes, requested) in rows.items():
        addresses = np.frombuffer(raw, np.int64)
        partition = np.unique(addresses, return_inverse=True)[1]
        _, entry = merged.setdefault(_canonical(partition).tobytes(), (addresses, [0.0, 0.0]))
        entry[0], entry[1] = entry[0] + nbytes, entry[1] + requested
    return [Panels(addresses, *both) for addresses, both in merged.values() if both[1]]


def _canonical(partition: Array) -> Array:
    """Numbered by first appearance."""
    _, first, which = np.unique(partition, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered: Array = rank[which]
    return numbered


def _first_addresses(survey: Survey) -> dict[tuple[int, int], Array]:
    """(op, wave) to the first address in each workgroup, int64 (workgroups,); -1 - workgroup where it did not load."""
    found: dict[tuple[int, int], Array] = {}
    for op in map(int, np.unique(survey.op)):
        instruction = survey.instructions[op]
        assert instruction is not None
        mine = np.flatnonzero(survey.op == op)
        addresses, _ = lane_addresses(instruction, _records(survey, mine))
        for wave in map(int, np.unique(survey.wave[mine])):
            chosen = mine[survey.wave[mine] == wave]
            groups, first = np.unique(survey.workgroup[chosen], return_index=True)
            labels = -1 - np.arange(survey.workgroups, dtype=np.int64)
            labels[groups] = addresses[survey.wave[mine] == wave][first, 0]
            found[op, wave] = labels
    return found


def _records(survey: Survey, mine: Array) -> dict[str, Any]:
    return {
        "rows": survey.row[mine][:, :, None], "base": survey.base[mine], "soffset": survey.soffset[mine],
    }  # fmt: skip


def _sizes(trace: WorkgroupTrace, costs: Costs) -> dict[tuple[int, int], tuple[float, float]]:
    """(op, wave) to (different bytes, bytes asked of the L2) of the traced workgroup's loads.

    A line that several of them touch belongs to the first.
    """
    keys: list[tuple[int, int]] = []
    requested: list[float] = []
    lines, owners = [], []
    for each in costs.accesses:
        if each.stores:
            continue
        touched = touched_lines(each)
        for wave in range(len(trace.waves)):
            mine = each.wave == wave
            lines.append(np.unique(touched[mine][touched[mine] >= 0]))
            owners.append(np.full(len(lines[-1]), len(keys)))
            keys.append((each.op, wave))
            requested.append(float(LINE * each.lines[mine].sum()))
    if not keys:
        return {}
    _, first = np.unique(np.concatenate(lines), return_index=True)
    own = np.bincount(np.concatenate(owners)[first], minlength=len(keys))
    return {key: (float(LINE * n), asked) for key, n, asked in zip(keys, own, requested, strict=True)}
