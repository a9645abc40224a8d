"""Hosts that vanish from the network without a word to their peers, on loopback."""

from __future__ import annotations

import ctypes
import socket

_SO_ATTACH_FILTER = 26  # source: asm-generic/socket.h
_RETURN = 0x06  # BPF_RET | BPF_K: keep the first k bytes of a packet


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("jump_true", ctypes.c_ubyte),
        ("jump_false", ctypes.c_ubyte),
        ("k", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


def vanish(sock: socket.socket) -> None:
    """Have the kernel drop all that arrives for a socket, so that its peer gets no acknowledgement any more."""
    drop = _Instruction(_RETURN, 0, 0, 0)
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, bytes(_Program(1, ctypes.pointer(drop))))
