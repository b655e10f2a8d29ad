"""Finishing a machine program: everything between what its author wrote and what the assembler takes."""

from __future__ import annotations

from . import wait_states, waits
from .program import Program


def finish(program: Program) -> Program:
    """The program with its waits, then its wait states: a wait too stands between a producer and its user.

    Raises BuildError for LDS tiles used too early, missing labels, and a program that does not end.
    """
    return wait_states.insert(waits.insert(program))
