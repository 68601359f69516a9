"""Allocation problems and answers, for allocators in Python.

The text form is described in the documentation of `kingpost_regalloc::text`.
"""

import re
import sys
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Set, Tuple

class Impossible(Exception):
    """An instruction whose operands cannot be placed: they need more registers of a class than there are, or one
    register twice. `what` is the class or the register.
    """

    def __init__(self, instruction, what):
        super().__init__(f"i{instruction.number} needs more of {what} than there is")
        self.instruction, self.what = instruction, what


_FLAGS = ("branch", "safepoint", "move", "remat", "nop")


@dataclass
class Operand:
    """An operand of an instruction.

    `constraint` is one of `reg`, `fixed`, `in`, `any`, `mem`, `stack`, `reuse`; `registers` are the registers of `fixed`
    and `in`, and `reuse` is the index of the operand whose location a def takes over.
    """

    value: int
    is_def: bool
    is_early: bool
    constraint: str = "reg"
    registers: List[str] = field(default_factory=list)
    reuse: Optional[int] = None
    is_rmw: bool = False


@dataclass
class Edge:
    """An edge of the control flow, with the arguments for the parameters of the successor."""

    block: int
    freq: float = 1.0
    arguments: List[int] = field(default_factory=list)
    defines: List[int] = field(default_factory=list)


@dataclass
class Instruction:
    """An instruction: its number, flags, operands, clobbered registers and, if it is a branch, edges. `kept` has the low
    bytes that the instruction keeps in some of the clobbered registers.
    """

    number: int
    flags: Set[str]
    operands: List[Operand]
    clobbers: Set[str]
    edges: List[Edge]
    kept: Dict[str, int] = field(default_factory=dict)


@dataclass
class Block:
    """A block: its number, parameters, frequency and instructions."""

    number: int
    parameters: List[int]
    freq: float
    instructions: List[Instruction]


@dataclass
class Machine:
    """The registers of the machine, in order of preference, by class, `int` or `float`."""

    registers: Dict[str, List[str]] = field(default_factory=dict)
    saved: Set[str] = field(default_factory=set)
    scratch: Dict[str, Optional[str]] = field(default_factory=dict)
    can_move_slots: Dict[str, bool] = field(default_factory=dict)


class Problem:
    """An allocation problem: `name`, `machine`, `values` with class, bytes and whether each is a reference, `blocks`."""

    def __init__(self, name, machine):
        self.name, self.machine = name, machine
        self.values: Dict[int, Tuple[str, int, bool]] = {}
        self.blocks: List[Block] = []

    @property
    def instructions(self):
        """All instructions in order."""
        return [instruction for block in self.blocks for instruction in block.instructions]

    @staticmethod
    def parse(text):
        """Returns the problem of a text as the library prints it: a machine and one problem."""
        machine, problem, section = Machine(), None, None
        for line in text.splitlines():
            line = line.split(";")[0].strip()
            if line.startswith("env"):
                section = "env"
            elif line.startswith("problem"):
                section, problem = "problem", Problem(re.search(r"%([^\s{]*)", line).group(1), machine)
            elif line == "}":
                section = None
            elif section == "env":
                _machine_line(machine, line)
            elif section == "problem" and line:
                _problem_line(problem, line)
        if problem is None:
            raise ValueError("the text has no problem")
        return problem


def _registers(text):
    names = []
    for part in re.split(r"[,\s]+", text.strip()):
        ends = re.fullmatch(r"([a-z]+)(\d+)-\1(\d+)", part)
        if ends:
            names += [f"{ends.group(1)}{number}" for number in range(int(ends.group(2)), int(ends.group(3)) + 1)]
        elif part:
            names.append(part)
    return names


def _machine_line(machine, line):
    kind, _, rest = line.partition(" ")
    if kind not in ("int", "float"):
        return
    saved = re.search(r"saved \{([^}]*)\}", rest)
    scratch = re.search(r"scratch (\w+)", rest)
    machine.saved |= set(_registers(saved.group(1))) if saved else set()
    machine.scratch[kind] = scratch.group(1) if scratch else None
    machine.can_move_slots[kind] = "slot_move" in rest.split()
    machine.registers[kind] = _registers(re.split(r"\b(?:saved|scratch|exchange|slot_move)\b", rest)[0])


def _problem_line(problem, line):
    values = re.fullmatch(r"(v\d+(?:, v\d+)*): (int|float) (\d+)( ref)?", line)
    block = re.fullmatch(r"b(\d+)(?:\(([^)]*)\))?(?: freq (\S+))?:", line)
    instruction = re.fullmatch(r"i(\d+):\s*(.*)", line)
    if values:
        for value in _numbers(values.group(1)):
            problem.values[value] = (values.group(2), int(values.group(3)), bool(values.group(4)))
    elif block:
        parameters = _numbers(block.group(2) or "")
        problem.blocks.append(Block(int(block.group(1)), parameters, float(block.group(3) or 1), []))
    elif instruction:
        problem.blocks[-1].instructions.append(_instruction(int(instruction.group(1)), instruction.group(2)))


def _numbers(text):
    return [int(number) for number in re.findall(r"v(\d+)", text)]


def _split(text):
    """Returns the parts between commas outside of brackets."""
    return [part.strip() for part in re.findall(r"(?:[^,({]|\([^)]*\)|\{[^}]*\})+", text) if part.strip()]


def _instruction(number, text):
    head, arrow, tail = text.partition("->")
    flags, clobbers, kept, operands = set(), set(), {}, []
    words = head.split()
    while words and words[0] in _FLAGS:
        flags.add(words.pop(0))
    for part in _split(" ".join(words)):
        if part.startswith("clobbers"):
            clobbers |= set(_registers(re.search(r"\{([^}]*)\}", part).group(1)))
            for size, registers in re.findall(r"kept (\d+) \{([^}]*)\}", part):
                kept.update(dict.fromkeys(_registers(registers), int(size)))
        else:
            operands.append(_operand(part))
    edges = [_edge(part) for part in _split(tail)] if arrow else []
    return Instruction(number, flags, operands, clobbers | set(kept), edges, kept)


def _operand(text):
    words = re.match(r"(early |late )?(use|def) v(\d+)\s*(.*)", text)
    when, kind, value, rest = words.groups()
    is_def = kind == "def"
    operand = Operand(int(value), is_def, when == "early " if is_def else when != "late ")
    fixed, within = re.match(r"= (\w+)", rest), re.match(r"in \{([^}]*)\}", rest)
    reuse = re.match(r"reuse (\d+)", rest)
    if fixed:
        operand.constraint, operand.registers = "fixed", [fixed.group(1)]
    elif within:
        operand.constraint, operand.registers = "in", _registers(within.group(1))
    elif reuse:
        operand.constraint, operand.reuse = "reuse", int(reuse.group(1))
    elif rest.split()[:1] and rest.split()[0] in ("any", "mem", "stack"):
        operand.constraint = rest.split()[0]
    operand.is_rmw = "rmw" in rest.split()
    return operand


def _edge(text):
    edge = re.match(r"(?:e\d+ )?b(\d+)(?:\(([^)]*)\))?(?: freq (\S+))?(?: defines \(([^)]*)\))?", text)
    block, arguments, freq, defines = edge.groups()
    return Edge(int(block), float(freq or 1), _numbers(arguments or ""), _numbers(defines or ""))


class Answer:
    """The answer to a problem: locations of operands, edits between instructions, and slots."""

    def __init__(self, problem):
        self.problem = problem
        self._slots: List[int] = []
        self._locations: Dict[int, List[str]] = {}
        self._edits: Dict[int, List[str]] = {}
        self._maps: Dict[int, List[str]] = {}
        self._written: Set[str] = set()
        #: Number of steps taken, which grows with the work of the allocator. A limit to the work counts it.
        self.steps = 0

    def slot(self, value):
        """Returns a new spill slot for a value."""
        self._slots.append(self.problem.values[value][1])
        return f"s{len(self._slots) - 1}"

    def place(self, instruction, locations):
        """Sets the locations of all operands of an instruction."""
        self._locations[instruction.number] = list(locations)
        self.steps += 1 + len(instruction.operands)
        pairs = zip(instruction.operands, locations)
        self._written |= {location for operand, location in pairs if operand.is_def} | instruction.clobbers

    def fill(self, before, slot, register, value):
        """Loads a value from a slot before an instruction."""
        self._edit(before, f"fill {slot} -> {register} {self.problem.values[value][1]}", register)

    def spill(self, before, register, slot, value):
        """Stores a value to a slot before an instruction."""
        self._edit(before, f"spill {register} -> {slot} {self.problem.values[value][1]}")

    def slot_move(self, before, source, target, value):
        """Copies a value from a slot to a slot before an instruction, if the machine can do so without a register."""
        self._edit(before, f"slot_move {source} -> {target} {self.problem.values[value][1]}")

    def move(self, before, source, target, value):
        """Copies a value from a register to a register before an instruction."""
        self._edit(before, f"move {source} -> {target} {self.problem.values[value][1]}", target)

    def stack_map(self, instruction, slots):
        """Sets the slots that hold live references at a safepoint."""
        self._maps[instruction.number] = sorted(slots, key=lambda slot: int(slot[1:]))

    def _edit(self, before, text, written=None):
        self.steps += 1
        self._edits.setdefault(before.number, []).append(f"  before i{before.number}: {text}")
        self._written |= {written} - {None}

    def __str__(self):
        lines = ["allocation {"]
        if self._slots:
            lines.append("  slots " + ", ".join(f"s{number}: {size}" for number, size in enumerate(self._slots)))
        saved = sorted(self._written & self.problem.machine.saved)
        if saved:
            lines.append(f"  saved {{{', '.join(saved)}}}")
        for instruction in self.problem.instructions:
            lines += self._edits.get(instruction.number, [])
            locations = self._locations.get(instruction.number)
            if locations:
                lines.append(f"  i{instruction.number}: {', '.join(locations)}")
        lines += [f"  map i{number}: {', '.join(slots)}" for number, slots in self._maps.items() if slots]
        lines.append(f"  stats steps {self.steps} splits 0 evictions 0")
        return "\n".join([*lines, "}", ""])


def answer_text(allocator, text):
    """Returns the answer of an allocator to the problem of a text, as text."""
    try:
        return str(allocator(Problem.parse(text)))
    except Impossible as impossible:
        return f"impossible i{impossible.instruction.number} {impossible.what}\n"


def serve(allocator):
    """Answers the problem on standard input on standard output, as `kingpost test --regalloc-command` wants it."""
    sys.stdout.write(answer_text(allocator, sys.stdin.read()))
