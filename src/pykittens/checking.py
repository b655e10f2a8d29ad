"""Checks that run a code object: where the checks of bytes meet the virtual GPU.

from pykittens import checking
checking.check_launch(kernel, grid=..., block=..., args=...)      # any kernel of a loaded module
checking.check_call(exe, A, B, C)                                 # a kernel of ours, on NumPy arrays
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pykittens.check.banks import BankTable
from pykittens.check.bounds import rewritten, unwritten
from pykittens.check.dynamic import findings_of
from pykittens.check.findings import Finding, Place, Report
from pykittens.errors import Fault
from pykittens.sim import Kernel

if TYPE_CHECKING:
    from pykittens.executable import Executable
    from pykittens.sim.checked import CheckedRun
    from pykittens.sim.launch_description import LaunchDescription

RACES = frozenset(("lds-race", "lds-order", "global-race", "workgroup-race"))
"""Codes of findings that another order of waves would turn into wrong results."""
_NOT_CHECKED = frozenset(("not-simulated", "timeout"))
"""Codes of faults that say nothing about the kernel."""


def check_launch(
    kernel: Kernel, *, outputs: Mapping[str, np.ndarray[Any, Any]] | None = None,
    tiles: Mapping[int, str] | None = None, **launch: Any,
) -> Report:  # fmt: skip
    """Run a launch in checked mode and report what it saw.

    launch: as of `Kernel.launch_checked`: grid, block, args or kernarg, lds, order, undefined. outputs: arrays among
    the arguments, by name, of which every byte is to be written, by one workgroup. tiles: address of an instruction to
    the tile that it accesses and how (``Bs read``). A fault that ends the launch is a finding, too.
    Raises InputError for a launch that cannot be.
    """
    seen = kernel.launch_checked(**launch)
    code_object = kernel.module.code_object
    findings = findings_of(seen.events, code_object, kernel.name, seen.load_address, tiles)
    if seen.fault is not None:
        findings.append(_fault(seen.fault, kernel.name))
    for name, array in (outputs or {}).items():
        findings += [replace(finding, kernel=kernel.name) for finding in _of_output(seen, name, array)]
    count = seen.run.instructions if seen.run else 0
    return Report.of(code_object.arch, kernel.module.where, [kernel.name], findings, count)


def check_call(exe: Executable, *tensors: Any, **launch: Any) -> Report:
    """Run a kernel of ours on tensors in checked mode; its written tensors have to be written whole. Contents of those
    that it does not load, and of its workspaces, count as never written.

    The report's ``lds`` has the bank conflicts of the first workgroup's LDS accesses by tile: ``.lds["Bs read"]``.
    """
    arguments = call_arguments(exe, *tensors)
    if arguments is None:
        return Report.of(exe.arch, exe.name, [exe.name], [])
    names = [argument.name for argument in exe.arguments]
    table = BankTable(exe.arch, arguments["tiles"])
    # The traced workgroup stores for real, so it works on copies.
    copies = exe.launch_arguments(
        *(t.copy() if name in exe.written else t for name, t in zip(names, tensors, strict=True))
    )
    report = check_launch(exe.sim_kernel, **arguments, **launch)
    # Waves that wait for ever would fill the memory with their trace.
    for trace in exe.sim_kernel.trace(**copies) if copies and not report.by_code("fault") else ():
        table.add_trace(trace)
    return replace(report, lds=table)


def call_arguments(exe: Executable, *tensors: Any) -> dict[str, Any] | None:
    """The arguments of `check_launch` for a call of a kernel of ours; None if the grid is empty."""
    launch = exe.launch_arguments(*tensors)
    if launch is None:
        return None
    names = [argument.name for argument in exe.arguments]
    outputs = {name: tensor for name, tensor in zip(names, tensors, strict=True) if name in exe.written}
    undefined = [tensor for name, tensor in outputs.items() if name not in exe.loaded and tensor.size]
    # Tensors are passed as bytes and counters as integers, so that numbers are workspaces.
    undefined += [a for a in launch["args"] if isinstance(a, np.ndarray) and a.dtype.kind == "f" and a.size]
    return {**launch, "outputs": outputs, "undefined": undefined, "tiles": exe.lds_names()}


def check_described(description: LaunchDescription, code: bytes, kernel: str | None = None) -> Report:
    """Run a code object's kernel as a launch description says; see `check_launch`. Its results have to be written."""
    prepared = description.prepare(code, kernel)
    return check_launch(prepared.kernel, outputs=description.results(prepared), **prepared.arguments)


def merged(report: Report, seen: Report) -> Report:
    """A report of the static check with what a run saw beyond it."""
    told = {(f.code, f.pc, f.producer.pc if f.producer else None) for f in report.findings}
    new = (f for f in seen.findings if (f.code, f.pc, f.producer.pc if f.producer else None) not in told)
    return report.merged(new, seen.lds)


def races(kernel: Kernel, **launch: Any) -> tuple[Finding, ...]:
    """The races of a launch: see `check_launch`."""
    return tuple(f for f in check_launch(kernel, **launch).findings if f.code in RACES and f.severity != "note")


def _of_output(seen: CheckedRun, name: str, array: np.ndarray[Any, Any]) -> Iterator[Finding]:
    """Bytes of an output that nobody wrote, if the launch came to its end, and that several workgroups wrote."""
    missing, again = np.flatnonzero(~seen.written(array)), np.flatnonzero(seen.rewritten(array))
    if len(missing) and seen.fault is None:
        yield unwritten(name, len(missing), array.nbytes, int(missing[0]))
    if len(again):
        yield rewritten(name, len(again), array.nbytes, int(again[0]))


def _fault(fault: Fault, kernel: str) -> Finding:
    place = Place(fault.pc, fault.instruction or "", fault.where) if fault.pc is not None else None
    code = "not-checked" if fault.code in _NOT_CHECKED else "fault"
    return Finding(code, f"{fault.what} ({fault.code})", fault.fix or "", place, kernel=kernel)
