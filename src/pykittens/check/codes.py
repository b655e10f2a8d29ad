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
        Rule("wait-war", "note", "A register is written that a scalar store may still read"),
        Rule("wait-loose", "note", "A wait could be looser: nothing depends on what it waits for"),
        # -- wait states -------------------------------------------------------------------------------------------
        Rule("wait-states", "error", "Too few instructions stand between two that the hardware does not keep apart"),
        Rule("wait-states-disputed", "note", "The sources disagree on whether more instructions must stand between"),
        # -- registers ---------------------------------------------------------------------------------------------
        Rule("undefined-register", "warning", "A register is read that nothing has written on any path"),
        Rule("kernarg-clobbered", "error", "A scalar load goes through what was the kernarg pointer"),
        Rule("register-range", "error", "A register lies outside of what the kernel descriptor allocates"),
        Rule("agpr-alias", "note", "A VGPR lies at or beyond accum_offset, where the AGPRs are"),
        # -- code and resources ------------------------------------------------------------------------------------
        Rule("illegal-instruction", "error", "Words that are no instruction are reached"),
        Rule("branch-target", "error", "A branch leads out of the code or into the middle of an instruction"),
        Rule("runs-past-end", "error", "Execution runs past the end of the code"),
        Rule("lds-offset", "error", "An LDS access starts beyond the LDS of the workgroup"),
        Rule("not-followed", "note", "A jump could not be followed, so that what it leads to is not checked"),
        Rule("lds-not-proved", "note", "The code alone does not tell where LDS instructions go"),
        # -- what a run on the virtual GPU saw: races -------------------------------------------------------------
        Rule("lds-race", "error", "Two waves access the same bytes of LDS, one writes, and nothing orders them"),
        Rule("lds-order", "error", "A wave accesses LDS before its own earlier access to it has completed"),
        Rule("global-race", "error", "Two waves of a workgroup access the same memory and nothing orders them"),
        Rule("workgroup-race", "warning", "Two workgroups access the same memory, and one of them writes it"),
        # -- what a run saw: data, addresses and lanes ------------------------------------------------------------
        Rule("undefined-store", "error", "Undefined data is stored to memory"),
        Rule("undefined-branch", "error", "Undefined data decides a branch or which lanes are active"),
        Rule("undefined-address", "error", "Undefined data decides where an access goes"),
        Rule("out-of-bounds", "error", "An access lies outside of all buffers"),
        Rule("other-buffer", "warning", "An access reaches another buffer than the one that its base lies in"),
        Rule("lds-bounds", "warning", "An access lies beyond the LDS of the workgroup"),
        Rule("unwritten-output", "error", "Bytes of an output were never written"),
        Rule("rewritten-output", "warning", "Bytes of an output were written by several workgroups"),
        Rule("inactive-lane", "note", "A value is taken from a lane that is not active"),
        Rule("barrier-missed", "warning", "A wave waits at a barrier that another one never reaches"),
        Rule("barriers-differ", "note", "Waves meet at different barrier instructions"),
        Rule("fault", "error", "The launch stopped with a fault"),
        Rule("not-checked", "note", "A run did something that it could not check"),
    )
}
