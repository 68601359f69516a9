"""Reads the meanings that the tests of the crate write; `tests/meanings.rs` explains the text."""

import re
from dataclasses import dataclass, field

import memories
import terms as t

TOKEN = re.compile(r"\(_ (?:bv)?[a-z_0-9]+(?: [0-9]+)*\)|[^\s()]+")


@dataclass
class Form:
    """Bytes of code at an address, and what they do."""

    machine: str
    address: int
    code: bytes
    name: str
    # What is in a place after the form: registers, flags, `pc` and `memory`.
    results: dict = field(default_factory=dict)
    # The names and widths of values that the manual leaves open.
    open: dict = field(default_factory=dict)
    faults: t.Term = t.FALSE


def texts(path):
    """Returns the texts of the forms of a file."""
    with open(path) as file:
        return file.read().split("\nend\n")[:-1]


def name_of(text):
    return text.split("\n", 1)[0].split(" ", 4)[4]


def parsed(text):
    """Returns the form of a text."""
    first, *lines = text.split("\n")
    form = begin(first)
    fill(form, lines)
    return form


def begin(line):
    word, machine, address, code, name = line.split(" ", 4)
    assert word == "form", line
    return Form(machine, int(address), bytes.fromhex(code), name)


def width_of(word):
    return t.BOOL if word == "bool" else int(word)


def fill(form, lines):
    """Reads the effects of a form."""
    known = {}
    memory = t.var("memory", t.MEMORY)
    for line in lines:
        kind, *words = TOKEN.findall(line)
        if kind in ("var", "open"):
            known[words[0]] = t.var(words[0], width_of(words[1]))
            if kind == "open":
                form.open[words[0]] = width_of(words[1])
        elif kind == "let":
            name, width, function, *operands = words
            known[name] = apply(function, [operand(known, word) for word in operands], width_of(width))
        elif kind == "result":
            form.results[words[0]] = operand(known, words[1])
        elif kind == "fault":
            form.faults = t.either(form.faults, operand(known, words[0]))
        elif kind == "load":
            address, size = operand(known, words[1]), int(words[2])
            known[words[0]] = memories.read(memory, address, size)
            form.faults = t.either(form.faults, misaligned(address, size, words[3:]))
        else:
            address, size = operand(known, words[0]), int(words[2])
            memory = memories.write(memory, address, operand(known, words[1]))
            form.faults = t.either(form.faults, misaligned(address, size, words[3:]))
    form.results["memory"] = memory


def misaligned(address, size, words):
    """Returns the condition of a fault of an access that must be aligned."""
    if "aligned" not in words:
        return t.FALSE
    low = t.binary("bvand", address, t.const(size - 1, 64))
    return t.no(t.eq(low, t.const(0, 64)))


def operand(known, word):
    if word.startswith("(_ bv"):
        value, width = word[5:-1].split()
        return t.const(int(value), int(width))
    return t.boolean(word == "true") if word in ("true", "false") else known[word]


def apply(function, args, width):
    """Returns the term of an operation by its SMT-LIB name."""
    index = re.match(r"\(_ ([a-z_]+) ([0-9 ]+)\)", function)
    if index and index[1] == "extract":
        return t.extract(args[0], int(index[2].split()[1]), width)
    if index:
        return t.zext(args[0], width) if index[1] == "zero_extend" else t.sext(args[0], width)
    if function.startswith("fp."):
        return t.floats(function.split(".")[1], args, width)
    plain = {"not": t.no, "and": t.both, "or": t.either, "=": t.eq, "ite": t.ite, "concat": t.concat}
    if function in plain:
        return plain[function](*args)
    return t.unary(function, *args) if len(args) == 1 else t.binary(function, *args)
