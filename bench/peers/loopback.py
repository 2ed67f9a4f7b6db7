#!/usr/bin/env python3
"""Runs a command in a network namespace that has the loopback and nothing else.

    python3 loopback.py COMMAND [ARGUMENT...]

The stores of other systems listen on every address of the machine; in here
that is 127.0.0.1 only. Needs root or user namespaces; says so where it has
neither.
"""
import ctypes
import fcntl
import os
import socket
import struct
import sys

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


def enter_namespace():
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    flags = CLONE_NEWNET | (CLONE_NEWUSER if user != 0 else 0)
    if libc.unshare(flags) != 0:
        sys.exit(f"loopback.py: no network namespace of its own: {os.strerror(ctypes.get_errno())}; run it as root")
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as f:
                f.write(text)


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("16xh", fcntl.ioctl(s, SIOCGIFFLAGS, request))
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: loopback.py COMMAND [ARGUMENT...]")
    enter_namespace()
    raise_loopback()
    os.execvp(sys.argv[1], sys.argv[1:])
