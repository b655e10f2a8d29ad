"""Wave specialization: some waves of a workgroup copy, the others compute; barriers or flags in LDS keep them apart.

On AMD every wave of a workgroup gets as many registers as the largest, so the producers' are lost to the accumulators
(paper, Table 2): it is here for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from pykittens.asm.program import user_line
from pykittens.errors import BuildError, InputError
from pykittens.tile.expression import Int, below, maximum
from pykittens.tile.flags import flags
from pykittens.tile.ops import barrier, clear, poll, post, priority, wait_for
from pykittens.tile.program_inputs import WAVE
from pykittens.tile.team import Team
from pykittens.tile.tiles import Registers, st
from pykittens.tile.trace import current, loop, phase, when

from .ping_pong import COMPUTE_PRIORITY

SYNC = ("barriers", "flags")
Consume = Callable[[Int, Callable[[], object]], None]


class Specialize:
    """The roles of one kernel: the first ``producers`` waves copy (``load(…, team=roles.team)``), others compute."""

    def __init__(self, producers: int) -> None:
        waves = current().wave_count
        if not 0 < producers < waves:
            raise BuildError("producers", f"{producers} of {waves} waves are producers", where=user_line())
        self.team = Team(0, producers)
        self.consumers = waves - producers
        self._producing = below(WAVE, producers)

    @property
    def consumer(self) -> Int:
        """The number of this wave among the consumers; 0 in producers, so that what follows from it is in range."""
        return maximum(WAVE - self.team.count, 0)

    @contextmanager
    def produce(self) -> Iterator[None]:
        """What only the producers do: copies."""
        with when(self._producing), phase("produce"):
            yield

    @contextmanager
    def consume(self) -> Iterator[None]:
        """What only the consumers do."""
        with when(below(self.team.count - 1, WAVE)), phase("consume"):
            yield

    @contextmanager
    def compute(self, *operands: Registers, more: bool = False) -> Iterator[None]:
        """MFMAs on these register tiles: once their loads have landed, at raised priority.

        more: reads of the same step follow. Such MFMAs go before other waves', so that no wave comes to its last read,
        which releases the stage, only when all others have finished.
        """
        wait_for(*operands)
        priority(COMPUTE_PRIORITY + more)
        yield
        priority(0)

    def run(
        self, steps: Int, produce: Callable[[Int], None], consume: Consume,
        tiles: Callable[[Int], Sequence[st]], *, stages: int, sync: str = "barriers",
    ) -> None:  # fmt: skip
        """``steps`` steps, ``stages`` of them in LDS at a time: the copies of ``produce(t)`` fill ``tiles(t)``, which
        ``consume(t, release)`` reads, calling ``release()`` behind its last read; both are called while tracing, with
        ``t % stages`` known.

        sync: ``barriers`` hold all waves up once a step, and ``produce`` is called for up to ``stages - 1`` steps
        too many; with ``flags`` a producer waits only for a stage that is read, and a consumer for one that is full.
        """
        if sync not in SYNC:
            raise InputError("option-value", f"sync is {sync!r}", fix=f"use one of {', '.join(SYNC)}")
        if stages < 2:
            raise BuildError("stages", f"{stages} stages, producers need 2 to work ahead", where=user_line())
        together = self._by_barriers if sync == "barriers" else self._by_flags
        together(steps, produce, consume, tiles, stages)

    def _by_barriers(
        self, steps: Int, produce: Callable[[Int], None], consume: Consume,
        tiles: Callable[[Int], Sequence[st]], stages: int,
    ) -> None:  # fmt: skip
        with self.produce():
            for first in range(stages - 1):
                produce(first)
        wait_for(*tiles(0))
        barrier()
        for t in loop(steps, unroll=stages):
            with self.produce():
                produce(t + stages - 1)
            with self.consume():
                consume(t, _at_the_barrier)
            wait_for(*tiles(t + 1))
            barrier()

    def _by_flags(
        self, steps: Int, produce: Callable[[Int], None], consume: Consume,
        tiles: Callable[[Int], Sequence[st]], stages: int,
    ) -> None:  # fmt: skip
        full, free = flags(stages, name="full"), flags(stages, name="free")
        clear(full, free)
        barrier()
        with self.produce():
            for t in loop(steps, unroll=stages):
                # A stage's first step finds it free; before each other one, all consumers have posted once more.
                poll(free[t % stages], t // stages * self.consumers, *tiles(t))
                produce(t)
                post(full[t % stages], *tiles(t))
        with self.consume():
            for t in loop(steps, unroll=stages):
                poll(full[t % stages], (t // stages + 1) * self.team.count, *tiles(t))
                consume(t, partial(post, free[t % stages], *tiles(t)))


def _at_the_barrier() -> None:
    """The barrier behind the step releases its stage."""
