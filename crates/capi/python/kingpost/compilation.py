"""Configurations, verification, and modules in memory or as objects."""

import ctypes
import re
import traceback
from ctypes import byref, c_size_t, c_uint64, c_void_p
from typing import NamedTuple

from ._library import Allocate, Handle, bytes_of, call, result, text_arguments
from .problem import answer_text

_TYPES = {
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}

_SIGNATURE = re.compile(r"^function\s+%([\w.$]+)\s*\(([^)]*)\)\s*(?:->\s*([^{\n]*))?", re.MULTILINE)


class Config:
    """Target, settings and allocator.

    `target` is a triple, an architecture, `host` for this machine's architecture, or `native` for this machine's
    processor. `allocator` is a name, or a function that takes a `Problem` and returns an `Answer`. Other arguments are
    settings, such as `opt_level="speed"`, or flags of the instruction set.
    """

    def __init__(self, target="host", allocator=None, **settings):
        self.handle = Handle()
        #: The exception of an allocator in Python.
        self.exception = None
        call("kp_config_new", byref(self.handle))
        call("kp_config_set_target", self.handle, target.encode())
        for key, value in settings.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            call("kp_config_set", self.handle, key.encode(), text.encode())
        if callable(allocator):
            # The library calls it as long as the configuration and its modules are there.
            self._callback = Allocate(self._answer(allocator))
            call("kp_config_set_allocator", self.handle, self._callback, None)
        elif allocator is not None:
            call("kp_config_set", self.handle, b"regalloc_algorithm", allocator.encode())

    def _answer(self, allocator):
        def allocate(_user, problem, length, answer):
            try:
                text, status = answer_text(allocator, ctypes.string_at(problem, length).decode()), 0
            except Exception as exception:  # An exception cannot pass through the library.
                self.exception = exception
                text, status = "".join(traceback.format_exception_only(type(exception), exception)), 1
            call("kp_buffer_append", answer, *text_arguments(text))
            return status

        return allocate

    def run(self, name, *arguments):
        """Calls a function of the library with this configuration, and returns its text.

        Raises the exception of an allocator in Python if there was one.
        """
        self.exception = None
        try:
            return result(name, self.handle, *arguments)
        finally:
            if self.exception is not None:
                raise self.exception

    def __del__(self):
        if getattr(self, "handle", None) and self.handle.bits:
            call("kp_config_free", self.handle)


class Finding(NamedTuple):
    """An error in a function."""

    line: int
    column: int
    function: str
    message: str


def allocators():
    """Returns the names of all allocators, the default first."""
    return result("kp_allocators").split()


def verify(text, target="host", **settings):
    """Returns the errors in functions in CLIF, as a list of `Finding`.

    Raises `KingpostError` if the text cannot be read.
    """
    report = Config(target, **settings).run("kp_verify_text", *text_arguments(text), None)
    findings = []
    for line in report.splitlines():
        row, column, rest = line.split(":", 2)
        function, message = rest.strip().split(": ", 1)
        findings.append(Finding(int(row), int(column), function, message))
    return findings


class Module:
    """Functions in memory. `module["f"]` is a callable; its types are the ones of the text.

    A trap ends the process, as in a program in C.
    """

    def __init__(self, text, config):
        # The configuration has an allocator that the module may call.
        self._config, self.handle = config, Handle()
        call("kp_module_new_jit", config.handle, byref(self.handle))
        config.exception = None
        try:
            call("kp_module_add_text", self.handle, *text_arguments(text))
        finally:
            if config.exception is not None:
                raise config.exception
        call("kp_module_load", self.handle)
        self._signatures = {name: (params, returns) for name, params, returns in _SIGNATURE.findall(text)}

    def address(self, name):
        """Returns the address of a function or a data object."""
        address = c_void_p()
        call("kp_module_address", self.handle, name.encode(), byref(address))
        return address.value

    def count(self, name):
        """Returns a count of the compiled functions: `functions`, `work`, `spills`, or with the setting `validate_code` the
        number of functions that were `proved`, for instance.
        """
        count = c_uint64()
        call("kp_module_count", self.handle, name.encode(), byref(count))
        return count.value

    def __getitem__(self, name):
        params, returns = self._signatures[name]
        function = ctypes.CFUNCTYPE(_result(returns), *[_type(param) for param in _words(params)])(self.address(name))
        # The code is there as long as its module.
        function.module = self
        return function

    def __del__(self):
        if getattr(self, "handle", None) and self.handle.bits:
            call("kp_module_free", self.handle)


def _words(text):
    return [part.split()[0] for part in text.split(",") if part.strip()]


def _type(name):
    if name not in _TYPES:
        raise TypeError(f"a value of type {name} cannot be passed from Python")
    return _TYPES[name]


def _result(returns):
    # A calling convention may follow the types.
    words = [word for word in _words(returns) if re.fullmatch(r"[if]\d+(x\d+)?", word)]
    if len(words) > 1:
        raise TypeError("a function with several results cannot be called from Python")
    return _type(words[0]) if words else None


def compile(text, target="host", allocator=None, **settings):
    """Compiles functions in CLIF into memory and returns a `Module`."""
    return Module(text, Config(target, allocator, **settings))


def compile_object(text, target="host", allocator=None, **settings):
    """Compiles functions in CLIF and returns the bytes of an object file."""
    config, module, buffer = Config(target, allocator, **settings), Handle(), Handle()
    call("kp_module_new_object", config.handle, byref(module))
    try:
        call("kp_module_add_text", module, *text_arguments(text))
        call("kp_module_object", module, byref(buffer))
        return bytes_of(buffer)
    finally:
        call("kp_module_free", module)
        if config.exception is not None:
            raise config.exception
