"""Checks that run a code object: where the checks of bytes meet the virtual GPU.

from pykittens import checking
checking.check_launch(kernel, grid=..., block=..., args=...)      # any kernel of a loaded module
checking.check_call(exe, A, B, C)                                 # a kernel of ours, on NumPy arrays
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pykittens.check.banks import BankTable
from pykittens.check.bounds import unwritten
from pykittens.check.dynamic import findings_of
from pykittens.check.findings import Finding, Place, Report
from pykittens.errors import Fault
from pykittens.sim import Kernel

if TYPE_CHECKING:
    from pykittens.executable import Executable
    from pykittens.sim.launch_description import LaunchDescription

RACES = frozenset(("lds-race", "lds-order", "global-race", "workgroup-race"))
"""Codes of findings that another order of waves would turn into wrong results."""


def check_launch(kernel: Kernel, *, outputs: Mapping[str, np.ndarray[Any, Any]] | None = None, **launch: Any) -> Report:
    """Run a launch in checked mode and report what it saw.

    launch: as of `Kernel.launch`: grid, block, args or kernarg, lds, order. outputs: arrays among the arguments, by
    name, of which every byte is to be written. A fault that ends the launch is a finding, too.
    Raises InputError for a launch that cannot be.
    """
    seen = kernel.launch_checked(**launch)
    code_object = kernel.module.code_object
    findings = findings_of(seen.events, code_object, kernel.name, seen.load_address)
    if seen.fault is not None:
        findings.append(_fault(seen.fault, kernel.name))
    else:
        for name, array in (outputs or {}).items():
            written = seen.written(array)
            if not written.all():
                missing = np.flatnonzero(~written)
                finding = unwritten(name, len(missing), written.size, int(missing[0]))
                findings.append(replace(finding, kernel=kernel.name))
    count = seen.run.instructions if seen.run else 0
    return Report.of(code_object.arch, kernel.module.where, [kernel.name], findings, count)


def check_call(exe: Executable, *tensors: Any, **launch: Any) -> Report:
    """Run a kernel of ours on tensors in checked mode; its written tensors have to be written whole.

    The report's ``lds`` has the bank conflicts of the first workgroup's LDS accesses by tile: ``.lds["Bs read"]``.
    """
    arguments = exe.launch_arguments(*tensors)
    if arguments is None:
        return Report.of(exe.arch, exe.name, [exe.name], [])
    names = [argument.name for argument in exe.arguments]
    outputs = {name: tensor for name, tensor in zip(names, tensors, strict=True) if name in exe.written}
    table = BankTable(exe.arch, exe.lds_names())
    # The traced workgroup stores for real, so it works on copies.
    copies = exe.launch_arguments(
        *(t.copy() if name in exe.written else t for name, t in zip(names, tensors, strict=True))
    )
    for trace in exe.sim_kernel.trace(**copies) if copies else ():
        table.add_trace(trace)
    return replace(check_launch(exe.sim_kernel, outputs=outputs, **arguments, **launch), lds=table)


def check_described(description: LaunchDescription, code: bytes, kernel: str | None = None) -> Report:
    """Run a code object's kernel as a launch description says; see `check_launch`."""
    prepared = description.prepare(code, kernel)
    return check_launch(prepared.kernel, **prepared.arguments)


def merged(report: Report, seen: Report) -> Report:
    """A report of the static check with what a run saw beyond it."""
    told = {(f.code, f.pc, f.producer.pc if f.producer else None) for f in report.findings}
    new = (f for f in seen.findings if (f.code, f.pc, f.producer.pc if f.producer else None) not in told)
    return report.merged(new, seen.lds)


def races(kernel: Kernel, **launch: Any) -> tuple[Finding, ...]:
    """The races of a launch: see `check_launch`."""
    return tuple(f for f in check_launch(kernel, **launch).findings if f.code in RACES and f.severity != "note")


def _fault(fault: Fault, kernel: str) -> Finding:
    place = Place(fault.pc, fault.instruction or "", fault.where) if fault.pc is not None else None
    return Finding("fault", f"{fault.what} ({fault.code})", fault.fix or "", place, kernel=kernel)
