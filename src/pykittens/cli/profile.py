"""``pk profile KERNEL`` and ``pk profile FILE.co --launch meta.json``: where every cycle would go on a real chip.

Everything printed is modelled, from the machine code and what a few of its workgroups do on the virtual GPU.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pykittens.cli import kernel_commands as kc

if TYPE_CHECKING:
    from pykittens.kernels.problem import Problem
    from pykittens.model.prediction import Prediction

_DRAWN = 1 << 20
"""Random numbers that are drawn; larger inputs repeat them, since time does not hang on the values."""
_LINES = 12


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
                kc.json_parameter(),
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
                kc.json_parameter(),
            ],
            partial(_profile_file, path),
        )


def _device_parameter() -> Any:
    return kc.parameter(
        "device", str, "", "--device", words="The product, such as MI355X; by default the chip's first."
    )


def _profile(problem: Problem, values: dict[str, Any]) -> None:
    import numpy as np

    from pykittens.cli.build import compiled
    from pykittens.cli.host_memory import host_memory
    from pykittens.modelled_launch import predict

    sizes, options = kc.sizes_of(problem, values), kc.options_of(problem, values)
    problem.check_options(options)
    problem.check_sizes(sizes, options, host_memory())
    exe, _ = compiled(problem, values["arch"], options)
    rng: Any = _RepeatedNumbers(np.random.default_rng(0))
    tensors = problem.tensors(sizes, options, rng)
    _show(predict(exe, *tensors.values(), device=values["device"] or None), values["as_json"])


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
    from pykittens.errors import InputError
    from pykittens.modelled_launch import predict_kernel
    from pykittens.sim.launch_description import LaunchDescription

    if not values["launch"]:
        raise InputError(
            "no-launch", "a code object needs a launch description", where=path, fix="give --launch meta.json"
        )
    prepared = LaunchDescription(values["launch"]).prepare(path, values["kernel"] or None)
    _show(predict_kernel(prepared.kernel, device=values["device"] or None, **prepared.arguments), values["as_json"])


def _show(prediction: Prediction, as_json: bool) -> None:
    from pykittens.cli import output

    if as_json:
        output.print_json(prediction.figures())
        return
    print(prediction)
    times = prediction.instructions
    for title, by in (("phase", times.phase), ("Python line", times.line)):
        sums = times.total(by)
        total = sum(a + b for a, b in sums.values()) or 1.0
        rows = [
            (name or "(none)", f"{100 * a / total:.1f} %", f"{100 * b / total:.1f} %")
            for name, (a, b) in sorted(sums.items(), key=lambda item: -sum(item[1]))[:_LINES]
        ]
        output.print_table(f"Waves' time by {title} (modelled)", (title, "issuing", "waiting"), rows)
