"""The devices on which labels are measured: the CPU always, and a GPU where there is one.

A kernel whose reverse sweep leaves its arrays (an index read back from lost memory) would take the whole process down
on a GPU, where a fault ends every later call. Such a kernel says so with a comment, ``# cpu only: reason``.
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
    """Whether the code of a kernel may run on a device."""
    return device == "cpu" or CPU_ONLY not in source
