"""The shared library: its functions, errors and buffers."""

import ctypes
import ctypes.util
import os
from ctypes import POINTER, byref, c_char, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

#: The interface that this package uses: major and minor version.
INTERFACE = "0.1"


class KingpostError(Exception):
    """An error of the compiler. `line` and `column` are 0 if it has no place in a text."""

    def __init__(self, message, status, line, column):
        place = f"{line}:{column}: " if line else ""
        super().__init__(f"{place}{message}")
        self.message, self.status, self.line, self.column = message, status, line, column


class Handle(ctypes.Structure):
    """A reference to an object of the library."""

    _fields_ = [("bits", c_uint64)]


class Error(ctypes.Structure):
    """An error as the library stores it."""

    _fields_ = [
        ("status", c_int32),
        ("line", c_uint32),
        ("column", c_uint32),
        ("length", c_uint32),
        ("message", c_char * 1000),
    ]


#: An allocator of a program: user data, problem, its length, buffer for the answer.
Allocate = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t, Handle)


def _find():
    """Returns the library: `KINGPOST_LIBRARY`, or the one in the package, or the one of the system."""
    bundled = Path(__file__).with_name("libkingpost.so")
    names = [os.environ.get("KINGPOST_LIBRARY"), str(bundled) if bundled.exists() else None]
    for name in [*names, f"libkingpost.so.{INTERFACE}", ctypes.util.find_library("kingpost")]:
        if name:
            try:
                return ctypes.CDLL(name)
            except OSError:
                # A library that was requested must be there.
                if name in names:
                    raise
    raise ImportError("there is no libkingpost.so: `make install`, or set KINGPOST_LIBRARY")


_LIBRARY = _find()


def call(name, *arguments):
    """Calls a function that can fail.

    Raises `KingpostError` if it does.
    """
    error = Error()
    function = getattr(_LIBRARY, name)
    function.restype = c_int32
    if function(*arguments, byref(error)) != 0:
        message = error.message.decode("utf-8", "replace")
        raise KingpostError(message, error.status, error.line, error.column)


def text_arguments(text):
    """Returns address and length of a text as arguments."""
    data = text.encode()
    return ctypes.cast(ctypes.c_char_p(data), POINTER(c_uint8)), c_size_t(len(data))


def bytes_of(buffer):
    """Returns the bytes of a buffer and frees it."""
    address, length = c_void_p(), c_size_t()
    call("kp_buffer_bytes", buffer, byref(address), byref(length))
    data = ctypes.string_at(address, length.value)
    call("kp_buffer_free", buffer)
    return data


def result(name, *arguments):
    """Calls a function whose last result is a buffer, and returns its text."""
    buffer = Handle()
    call(name, *arguments, byref(buffer))
    return bytes_of(buffer).decode()
