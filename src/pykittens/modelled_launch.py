"""`pk.predict`: runs a few workgroups on the virtual GPU and times what they executed with the cycle model.

p = pk.predict(exe, (8192, 8192), (8192, 8192), (8192, 8192))
print(p.tflops, p.mfma_utilisation, p)          # modelled, not measured
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from pykittens import sim
from pykittens.asm import code_object
from pykittens.errors import InputError
from pykittens.executable import Executable
from pykittens.model.cu import Engine
from pykittens.model.launch import Launch, predict_launch
from pykittens.model.prediction import Prediction
from pykittens.sim import dispatch
from pykittens.sim.device import Kernel
from pykittens.sim.native_build import symbol
from pykittens.tile.arguments import TensorArgument

__all__ = ["Prediction", "modelled_order", "predict"]

_TRACED = 5
"""Workgroups that are traced whole, spread over the grid, where they do not all do the same."""
_WHOLE = 1 << 32
_GOLDEN = 2654435769
"""The golden ratio's part of `_WHOLE`."""


def predict(
    kernel: Executable | str | os.PathLike[str] | bytes,
    *tensors: Any,
    device: str | None = None,
    name: str | None = None,
    arch: str | None = None,
    grid: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    args: Sequence[Any] | None = None,
    kernarg: bytes | None = None,
    lds: int = 0,
) -> Prediction:
    """What a launch would take on a real chip, modelled.

    kernel: an `Executable`, with ``tensors`` as when it is called; a tensor may be given by its shape alone (its values
    are then 0), and nothing is written to those given. Or any code object (path or bytes), with ``grid``, ``block`` and
    ``args`` or ``kernarg`` as for `sim.Kernel.launch`, the kernel's ``name`` where there are several, and ``arch``
    where the file does not say; some of its workgroups then run for real. device: the product, ``"MI355X"`` or so; by
    default the first of the chip's.

    Raises InputError for a launch that cannot be, and as a launch does for what the kernel does wrong.
    """
    if isinstance(kernel, Executable):
        if grid is not None or block is not None or args is not None or kernarg is not None:
            raise InputError("predict", "an executable knows its grid, block and arguments", fix="pass tensors alone")
        arrays = _arrays(kernel, tensors)
        launch = kernel.launch_arguments(*arrays)
        if launch is None:
            raise InputError("empty-grid", f"{kernel.name} has nothing to do for these sizes")
        return predict_kernel(kernel.sim_kernel, device=device, **launch)
    if tensors or grid is None or block is None:
        raise InputError("predict", "a code object needs grid=, block= and args= or kernarg=")
    found = code_object.read(kernel, arch)
    module = sim.Device(found.arch).load(found.data)
    return predict_kernel(
        module.kernel(name), grid=grid, block=block, args=args, kernarg=kernarg, lds=lds, device=device
    )  # fmt: skip


def predict_kernel(kernel: Kernel, *, device: str | None = None, **launch: Any) -> Prediction:
    """The prediction for a kernel loaded on a virtual GPU; ``launch`` as for `sim.Kernel.launch`."""
    module, info = kernel.module, kernel.info
    chip = module.device.chip
    checked = dispatch.check(
        info, chip, launch["grid"], launch["block"], launch.get("lds", 0), f"{module.where}, kernel {kernel.name}"
    )
    described = Launch(
        chip, chip.device(device), module.code_object, info, checked.grid, checked.block, checked.lds_bytes
    )  # fmt: skip
    # In steps of the golden ratio: equal ones may meet the same column of tiles, such as the last, again and again.
    numbers = sorted({checked.groups * (i * _GOLDEN % _WHOLE) // _WHOLE for i in range(_TRACED)})
    traces = kernel.trace(**launch, workgroups=numbers[:1])
    survey = kernel.survey(**launch)
    rest = kernel.trace(**launch, workgroups=numbers[1:]) if len(numbers) > 1 else []
    return predict_launch(Engine.find(symbol), described, [*traces, *rest], survey)


def _arrays(exe: Executable, tensors: Sequence[Any]) -> list[Any]:
    """The tensors, with zeros for shapes and copies of those that the kernel writes."""
    arguments = exe.arguments
    if len(tensors) != len(arguments):
        names = ", ".join(a.name for a in arguments)
        raise InputError("argument-count", f"{exe.name} takes {len(arguments)} tensors ({names}), got {len(tensors)}")
    found = []
    for argument, tensor in zip(arguments, tensors, strict=True):
        if not isinstance(argument, TensorArgument):
            found.append(tensor)
        elif isinstance(tensor, (tuple, list)):
            found.append(np.zeros(tuple(tensor), argument.tensor.dtype.numpy))
        elif argument.name in exe.written:
            found.append(np.array(tensor) if isinstance(tensor, np.ndarray) else tensor.clone())
        else:
            found.append(tensor)
    return found


def modelled_order(prediction: Prediction) -> sim.Order:
    """The order in which the first workgroup's waves issued in a prediction, for launches on the virtual GPU.

    ``exe(A, B, C, order=modelled_order(pk.predict(exe, A, B, C)))``. Instructions that the prediction did not time one
    by one (a long loop's later rounds) go in the usual turns.
    """
    issued = np.concatenate([wave.issued for wave in prediction.waves])
    waves = np.repeat(np.arange(len(prediction.waves)), [len(wave.issued) for wave in prediction.waves])
    # Stable: a wave's own instructions stay in order, and waves that issue at one time go by their number.
    following = waves[np.argsort(issued, kind="stable")]
    starts = np.flatnonzero(np.diff(following, prepend=-1))
    counts = np.diff(starts, append=len(following))
    return sim.Order(
        turns=tuple((int(following[start]), int(count)) for start, count in zip(starts, counts, strict=True))
    )
