"""The devices on which labels are measured: the CPU always, and a GPU where there is one.

What has a defect on the CPU device only (``numpy()`` is a view there), and what would end the whole process on a GPU
(where no later call succeeds after a fault) says so with a comment, ``# cpu only: reason``.
"""

from __future__ import annotations

import warp as wp

from warplint.probe.running import gpu_to_use

CPU_ONLY = "# cpu only:"


def devices() -> list[str]:
    """``cpu``, and ``cuda:0`` where a driver is installed and Warp finds a device."""
    if gpu_to_use("auto") is None:
        return ["cpu"]
    wp.config.quiet = True
    return ["cpu", "cuda:0"] if wp.is_cuda_available() else ["cpu"]


def runs_on(source: str, device: str) -> bool:
    """Whether the code of a file may run on a device."""
    return device == "cpu" or CPU_ONLY not in source
