"""What both lifters share: registers as bytes, paths, and the state in which lifted code leaves a machine."""

from dataclasses import dataclass

import terms as t


# Conditions under which a lifter leaves the result of the current form to the machine that executes its language.
left_open = []


class NoMeaning(Exception):
    """A lifter has no meaning for a form, or one that this program cannot read; the message says which part."""


class Bytes:
    """Registers or temporary places of a lifter, by the numbers of their bytes."""

    def __init__(self, name):
        self.name = name
        # Eight bytes each, by the number of the first one divided by eight.
        self.words = {}

    def copy(self):
        other = Bytes(self.name)
        other.words = dict(self.words)
        return other

    def word(self, index):
        """Returns eight bytes. What was not set is a variable."""
        return self.words.get(index) or t.var(f"{self.name}{index}", 64)

    def get(self, at, size):
        """Returns `size` bytes from byte `at` on."""
        first, last = at // 8, (at + size - 1) // 8
        value = self.word(first)
        for index in range(first + 1, last + 1):
            value = t.concat(self.word(index), value)
        return t.extract(value, 8 * (at % 8), 8 * size)

    def set(self, at, value):
        while value is not None:
            index, low = at // 8, 8 * (at % 8)
            width = min(value.width, 64 - low)
            old, part = self.word(index), t.extract(value, 0, width)
            if low:
                part = t.concat(part, t.extract(old, 0, low))
            if part.width < 64:
                part = t.concat(t.extract(old, part.width, 64 - part.width), part)
            self.words[index] = part
            at += width // 8
            value = t.extract(value, width, value.width - width) if width < value.width else None


@dataclass
class Path:
    """A path through lifted code: its condition, and the state at its end."""

    condition: t.Term
    registers: Bytes
    memory: t.Term
    pc: t.Term
    is_fault: bool = False


def merged(paths, read):
    """Returns what is in each place after any of the paths. `read` returns the places of a path's registers."""
    results, faults = None, t.FALSE
    for path in paths:
        if path.is_fault:
            faults = t.either(faults, path.condition)
            continue
        places = {**read(path.registers), "memory": path.memory, "pc": path.pc}
        if results is None:
            results = places
        else:
            results = {name: t.ite(path.condition, places[name], old) for name, old in results.items()}
    if results is None:
        raise NoMeaning("no path")
    return results, faults



X64_GENERAL = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()
# The flags that are modeled, in the order of their numbers.
FLAGS = {"x86_64": "CF PF ZF SF OF".split(), "aarch64": "NG ZR CY OV".split()}
A64_GENERAL = [f"x{number}" for number in range(31)] + ["sp"]
GENERAL = {"x86_64": X64_GENERAL, "aarch64": A64_GENERAL}
VECTORS = {"x86_64": 16, "aarch64": 32}


def to_integer(name, rounding, source, size):
    """Returns the integer of a rounded float. No lifter defines it for a NaN, or for a number that does not fit."""
    if t.is_widened(source):
        return to_integer(name, rounding, source.args[0], size)
    whole = t.floats(rounding, [source], source.width)
    is_signed = name == "ToSigned"
    limit = power_of_two(size - 1 if is_signed else size, source.width)
    least = negated(limit) if is_signed else t.const(0, source.width)
    # An integer may be as wide as no number of a narrow format is. Infinity never fits.
    is_limited = limit.value != infinity(source.width)
    above = t.float_relation("fp.leq" if is_limited or not is_signed else "fp.lt", least, whole)
    fits = t.both(t.float_relation("fp.lt", whole, limit), above)
    left_open.append(t.either(t.is_nan(source), t.no(fits)))
    return t.floats(name, [source if rounding == "Trunc" else whole], size)


DIGITS = {16: 10, 32: 23, 64: 52}


def infinity(width):
    return ((1 << width - 1 - DIGITS[width]) - 1) << DIGITS[width]


def power_of_two(exponent, width):
    """Returns the bits of a float; infinity if the power is too large."""
    bias = (1 << width - 2 - DIGITS[width]) - 1
    return t.const(min(exponent + bias << DIGITS[width], infinity(width)), width)


def negated(value):
    return t.binary("bvxor", value, t.const(1 << (value.width - 1), value.width))
