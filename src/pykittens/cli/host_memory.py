"""How much memory this machine gives a process, so that absurd sizes are refused before anything is allocated."""

from __future__ import annotations

import os
from pathlib import Path

# Where Linux writes a container's limit: control groups of version 2 and 1.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def host_memory() -> int:
    """Bytes: the machine's memory, or less where a control group says so."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in map(Path, _LIMITS):
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        if text.isdecimal():  # "max" is no limit
            sizes.append(int(text))
    return min(sizes)
