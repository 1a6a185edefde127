"""What a process that runs programs of others may not ask the system for: the network, and further processes.

Slices only compute, and need neither. Native snippets and imported modules, where the user allows them, could do
anything. The filter is seccomp's (Linux manual, seccomp(2), section "Filter mode"); only Linux has one.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Callable, Mapping

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2  # prctl(2)
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # <linux/bpf_common.h>
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16  # offsets in struct seccomp_data
_THREAD = 0x00010000  # CLONE_THREAD
_LOCAL_FAMILIES = (1, 16)  # AF_UNIX, AF_NETLINK
# Calls of the x32 interface have numbers of their own.
_X32 = 0x40000000
_IO_URING, _CLONE3 = 425, 435  # the same everywhere

#: An instruction: its code, how many to skip where it holds and where not, and its number.
_Line = tuple[int, int, int, int]

#: By machine: the architecture as the audit system names it, and the numbers of system calls.
_MACHINES = {
    "x86_64": (0xC000003E, {"socket": 41, "clone": 56, "fork": 57, "vfork": 58}),
    "aarch64": (0xC00000B7, {"socket": 198, "clone": 220}),
}


def without_network() -> bool:
    """Refuses this process, and all that it starts, sockets that lead out of the machine. Whether that was possible."""
    return _install(
        lambda calls: [
            *_refused(_IO_URING, errno.EPERM),
            (_EQUAL, 0, 2 + len(_LOCAL_FAMILIES), calls["socket"]),
            (_LOAD, 0, 0, _FIRST),
            *((_EQUAL, len(_LOCAL_FAMILIES) - number, 0, family) for number, family in enumerate(_LOCAL_FAMILIES)),
            (_RETURN, 0, 0, _REFUSE | errno.EACCES),
        ]
    )


def without_processes() -> bool:
    """Refuses this process further processes; threads it may have. Whether that was possible."""
    return _install(
        lambda calls: [
            *_refused(_CLONE3, errno.ENOSYS),  # the C library then uses `clone`, whose flags can be read here
            *(line for name in ("fork", "vfork") if name in calls for line in _refused(calls[name], errno.EAGAIN)),
            (_EQUAL, 0, 3, calls["clone"]),
            (_LOAD, 0, 0, _FIRST),
            (_ANY_BIT, 1, 0, _THREAD),
            (_RETURN, 0, 0, _REFUSE | errno.EAGAIN),
        ]
    )


def _refused(call: int, error: int) -> list[_Line]:
    return [(_EQUAL, 0, 1, call), (_RETURN, 0, 0, _REFUSE | error)]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def _install(rules: Callable[[Mapping[str, int]], list[_Line]]) -> bool:
    if not sys.platform.startswith("linux") or platform.machine() not in _MACHINES or sys.byteorder != "little":
        return False
    architecture, calls = _MACHINES[platform.machine()]
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE | errno.EPERM),
        *rules(calls),
        (_RETURN, 0, 0, _ALLOW),
    ]
    program = _Program(len(lines), b"".join(struct.pack("HBBI", *line) for line in lines))
    system = ctypes.CDLL(None)
    if system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(system.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)
