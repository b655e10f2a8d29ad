"""The virtual GPU: loads code objects for gfx942 and gfx950, whoever made them, and runs them as the ISA says."""

from __future__ import annotations

from pykittens.sim.device import Device, Kernel, Module
from pykittens.sim.launch import Order, Run
from pykittens.sim.memory import Buffer

__all__ = ["Buffer", "Device", "Kernel", "Module", "Order", "Run"]
