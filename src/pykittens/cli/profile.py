"""``pk profile KERNEL`` and ``pk profile FILE.co --launch meta.json``: where every cycle would go on a real chip.

Everything printed is modelled, from the machine code and what a few of its workgroups do on the virtual GPU.
"""

from __future__ import annotations

import inspect
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykittens.cli import kernel_commands as kc
from pykittens.cli import profile_report

if TYPE_CHECKING:
    from pykittens.kernels.problem import Problem

_DRAWN = 1 << 20
"""Random numbers that are drawn; larger inputs repeat them, since time does not hang on the values."""


class ProfileGroup(kc.KernelGroup):
    """One command per kernel, and one for code objects."""

    def kernel_command(self, problem: Problem) -> Any:
        return kc.command(
            problem.name,
            f"Model the time of {problem.name}: {problem.kernel.description}",
            [
                *kc.size_parameters(problem),
                *kc.option_parameters(problem),
                kc.arch_parameter(),
                _device_parameter(),
                *profile_report.parameters(),
            ],
            partial(_profile, problem),
        )

    def file_command(self, path: str) -> Any:
        return kc.command(
            path,
            f"Model the time of a kernel of {path}, launched as a launch description says.",
            [
                kc.parameter("launch", str, "", "--launch", words="The launch description (meta.json), or its folder."),
                kc.parameter("kernel", str, "", "--kernel", words="The kernel, where the file has several."),
                _device_parameter(),
                *profile_report.parameters(),
            ],
            partial(_profile_file, path),
        )


def _device_parameter() -> Any:
    return kc.parameter(
        "device", str, "", "--device", words="The product, such as MI355X; by default the chip's first."
    )


def _profile(problem: Problem, values: dict[str, Any]) -> None:
    import numpy as np

    from pykittens.cli.build import compiled, order_figures
    from pykittens.cli.host_memory import host_memory
    from pykittens.modelled_launch import predict

    sizes, options = kc.sizes_of(problem, values), kc.options_of(problem, values)
    problem.check_options(options)
    problem.check_sizes(sizes, options, host_memory())
    exe, _ = compiled(problem, values["arch"], options)
    rng: Any = _RepeatedNumbers(np.random.default_rng(0))
    tensors = problem.tensors(sizes, options, rng)
    prediction = predict(exe, *tensors.values(), device=values["device"] or None)
    folder = Path(inspect.getfile(problem.kernel.function)).parent
    order = order_figures(exe, tensors).get("launch_order")
    profile_report.show(prediction, values, exe.sim_kernel, [folder], exe, order)


class _RepeatedNumbers:
    """A generator whose large arrays of normal numbers repeat a smaller one."""

    def __init__(self, rng: Any) -> None:
        self._rng = rng

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng, name)

    def standard_normal(self, size: Any = None, dtype: Any = float) -> Any:
        import numpy as np

        count = int(np.prod(size)) if size is not None else 1
        if count <= _DRAWN:
            return self._rng.standard_normal(size, dtype)
        return np.resize(self._rng.standard_normal(_DRAWN, dtype), size)


def _profile_file(path: str, values: dict[str, Any]) -> None:
    from pykittens.cli.launch import described
    from pykittens.modelled_launch import predict_kernel

    prepared = described(path, values["launch"]).prepare(path, values["kernel"] or None)
    prediction = predict_kernel(prepared.kernel, device=values["device"] or None, **prepared.arguments)
    profile_report.show(prediction, values, prepared.kernel, [Path(path).parent])
