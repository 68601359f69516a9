"""Reads and writes of memories. Addresses that are equal sums are one term, so that a read finds a write before it."""

import terms as t


def summands(address, factor, found):
    """Adds the summands of an address to `found`: their factors by term, and the constant by `None`."""
    op, args = address.op, address.args
    if op == "const":
        found[None] = found.get(None, 0) + factor * address.value
    elif op == "bvadd":
        for arg in args:
            summands(arg, factor, found)
    elif op == "bvsub":
        summands(args[0], factor, found)
        summands(args[1], -factor, found)
    elif op == "bvmul" and "const" in (args[0].op, args[1].op):
        scale, other = args if args[0].op == "const" else args[::-1]
        summands(other, factor * scale.value, found)
    elif op == "bvshl" and args[1].op == "const":
        summands(args[0], factor << args[1].value, found)
    else:
        found[address] = found.get(address, 0) + factor


def place(address, offset=0):
    """Returns the address `offset` bytes after another, in one form for all sums that are equal."""
    found = {}
    summands(address, 1, found)
    total = t.const(found.pop(None, 0) + offset, 64)
    for part in sorted(found, key=lambda part: part.number):
        factor = t.const(found[part], 64)
        total = t.binary("bvadd", total, part if factor.value == 1 else t.binary("bvmul", part, factor))
    return total


def are_apart(a, b):
    """Returns whether two places differ by a constant that is not zero."""
    difference = place(t.binary("bvsub", a, b))
    return difference.op == "const" and difference.value != 0


def byte(memory, at):
    """Returns the byte at a place. Writes of other places are not looked at."""
    while memory.op == "store":
        before, written, value = memory.args
        if written is at:
            return value
        if not are_apart(written, at):
            break
        memory = before
    return t.term("select", (memory, at), 8)


def read(memory, address, size):
    """Returns `size` bytes at an address, the first one lowest."""
    value = byte(memory, place(address))
    for at in range(1, size):
        value = t.concat(byte(memory, place(address, at)), value)
    return value


def write(memory, address, value):
    """Returns the memory after a write of bytes."""
    for at in range(value.width // 8):
        memory = t.term("store", (memory, place(address, at), t.extract(value, 8 * at, 8)), t.MEMORY)
    return memory
