"""The codes of findings: what each is about and how bad it is. docs/findings.md explains every one with an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Worst first. Errors and warnings make a report unclean; notes are said and change nothing."""


@dataclass(frozen=True)
class Rule:
    """A kind of finding: its stable code, the severity it has unless a finding says otherwise, and a title."""

    code: str
    severity: Severity
    title: str


CODES: dict[str, Rule] = {
    rule.code: rule
    for rule in (
        # -- waits -------------------------------------------------------------------------------------------------
        Rule("wait-raw", "error", "A register is read before the load into it has been waited for"),
        Rule("wait-waw", "error", "A register is written while a load into it is under way"),
        Rule("wait-loose", "note", "A wait could be looser: nothing depends on what it waits for"),
        # -- wait states -------------------------------------------------------------------------------------------
        Rule("wait-states", "error", "Too few instructions stand between two that the hardware does not keep apart"),
        Rule("wait-states-disputed", "note", "The sources disagree on whether more instructions must stand between"),
        # -- registers ---------------------------------------------------------------------------------------------
        Rule("undefined-register", "warning", "A register is read that nothing has written on some path"),
        Rule("register-range", "error", "A register lies outside of what the kernel descriptor allocates"),
        Rule("agpr-alias", "note", "A VGPR lies at or beyond accum_offset, where the AGPRs are"),
        # -- code and resources ------------------------------------------------------------------------------------
        Rule("illegal-instruction", "error", "Words that are no instruction are reached"),
        Rule("branch-target", "error", "A branch leads out of the code or into the middle of an instruction"),
        Rule("runs-past-end", "error", "Execution runs past the end of the code"),
        Rule("lds-offset", "error", "An LDS access starts beyond the LDS of the workgroup"),
        Rule("not-followed", "note", "A jump could not be followed, so that what it leads to is not checked"),
    )
}
