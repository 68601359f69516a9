"""Registers for the operands of one instruction, for allocators in Python.

A use needs its register until the instruction writes, a late def from then on, and other operands throughout. A use
whose register a def takes over represents the def as well, uses of one value share a register, and so do defs of a branch
on different edges. The needs with the smallest choice come first. One whose registers are taken moves another to a
different register, if there is one (the augmenting paths of Kuhn, 1955).
"""

from dataclasses import dataclass
from typing import Optional, Set

from .problem import Impossible

#: Numbers of registers at both points of an instruction: more needs are never satisfied.
_MOST = 128


@dataclass
class _Need:
    """A register that is needed at the early point, the late point or both; `reg` is the chosen one."""

    value: int
    kind: str
    allowed: Set[str]
    points: Set[int]
    is_written: bool
    register: Optional[str] = None


def choose_registers(problem, instruction, prefer=lambda value: None):
    """Returns a register for each operand, or `None` for an operand that may be in memory. `prefer` returns a register
    that holds a value already.

    Raises `Impossible` if there are too few registers.
    """
    try:
        return _Chooser(problem, instruction, prefer, narrows=False).choose()
    except Impossible:
        return _Chooser(problem, instruction, prefer, narrows=True).choose()


class _Chooser:
    def __init__(self, problem, instruction, prefer, narrows):
        self.problem, self.instruction, self.prefer = problem, instruction, prefer
        #: Whether uses share a register even if one of them could otherwise have more.
        self.narrows = narrows
        operands = instruction.operands
        reusing = ((operand.reuse, index) for index, operand in enumerate(operands) if operand.reuse is not None)
        self.reused_by = {use: index for use, index in reusing}
        self.needs = {}
        #: Per point, the need that has a register.
        self.owners = ({}, {})

    def choose(self):
        operands, edges = self.instruction.operands, self.instruction.edges
        edge_of = {value: number for number, edge in enumerate(edges) for value in edge.defines}
        groups = {}
        for index, operand in enumerate(operands):
            edge = edge_of.get(operand.value) if operand.is_def else None
            groups.setdefault(-1 if edge is None else edge, []).append(index)
        everywhere = self._needs_of(groups.pop(-1, []))
        fixed = {r for group in groups.values() for i in group for r in self._fixed(operands[i])}
        for need in everywhere:
            others = need.allowed - fixed
            if 1 in need.points and others:
                need.allowed = others
        self._place_all(everywhere)
        for _, group in sorted(groups.items()):
            needs = self._needs_of(group)
            self._place_all(needs)
            # The results on other edges never exist together with these.
            for need in needs:
                self._leave(need)
        chosen = [self.needs.get(index if op.reuse is None else op.reuse) for index, op in enumerate(operands)]
        return [need and need.register for need in chosen]

    @staticmethod
    def _fixed(operand):
        return operand.registers if operand.constraint == "fixed" else []

    def _needs_of(self, indices):
        """Returns the needs of a group of operands, and remembers them by operand."""
        needs = []
        for index in indices:
            need = self._need_of(index)
            if need is None:
                continue
            shared = next((other for other in needs if _share(other, need, self.narrows)), None)
            self.needs[index] = shared or need
            if shared is None:
                needs.append(need)
            if len(needs) > _MOST:
                raise Impossible(self.instruction, need.kind)
        return needs

    def _need_of(self, index):
        operand = self.instruction.operands[index]
        reuser = self.instruction.operands[self.reused_by[index]] if index in self.reused_by else None
        in_memory = operand.constraint in ("any", "mem", "stack") and (reuser is None or reuser.is_rmw)
        if operand.reuse is not None or in_memory:
            return None
        kind, width, _ = self.problem.values[operand.value]
        registers = self.problem.machine.registers.get(kind, [])
        allowed = set(registers)
        if operand.constraint in ("fixed", "in"):
            allowed &= set(operand.registers)
        points = {0} if not operand.is_def or operand.is_early else set()
        if operand.is_def or not operand.is_early or reuser:
            points.add(1)
            width = max(width, self.problem.values[reuser.value][1]) if reuser else width
            kept = self.instruction.kept
            allowed -= {register for register in self.instruction.clobbers if kept.get(register, 0) < width}
        if not allowed:
            fixed = self._fixed(operand)
            raise Impossible(self.instruction, fixed[0] if fixed else kind)
        return _Need(operand.value, kind, allowed, points, bool(operand.is_def or reuser))

    def _place_all(self, needs):
        for need in sorted(needs, key=lambda need: (len(need.allowed), len(need.points) < 2)):
            if not self._place(need, needs, set()):
                what = next(iter(need.allowed)) if len(need.allowed) == 1 else need.kind
                raise Impossible(self.instruction, what)

    def _place(self, need, group, tried):
        held = self.prefer(need.value)
        order = self.problem.machine.registers[need.kind]
        order = [register for register in order if register in need.allowed]
        if held in need.allowed:
            order = [held, *order]
        for register in order:
            if not self._owners(need, register):
                self._take(need, register)
                return True
        for register in order:
            rivals = self._owners(need, register)
            if len(rivals) > 1 or register in tried or not any(rivals[0] is other for other in group):
                continue
            tried.add(register)
            self._leave(rivals[0])
            self._take(need, register)
            if self._place(rivals[0], group, tried):
                return True
            self._leave(need)
            self._take(rivals[0], register)
        return False

    def _owners(self, need, register):
        owners = [self.owners[point].get(register) for point in need.points]
        owners = [owner for owner in owners if owner is not None]
        return owners[:1] if len(owners) == 2 and owners[0] is owners[1] else owners

    def _take(self, need, register):
        need.register = register
        for point in need.points:
            self.owners[point][register] = need

    def _leave(self, need):
        for owners in self.owners:
            if owners.get(need.register) is need:
                del owners[need.register]


def _share(old, new, narrows):
    """Merges a need into another one of the same value, if they may share a register."""
    if old.value != new.value or old.is_written and new.is_written:
        return False
    both = old.allowed & new.allowed
    if not _lasts(old, new):
        if not _lasts(new, old) or not (both if narrows else both == new.allowed):
            return False
        old.kind, old.points, old.is_written = new.kind, new.points, new.is_written
    elif not (both if narrows else both == old.allowed):
        return False
    old.allowed = both
    return True


def _lasts(long, short):
    """Returns whether a need keeps its register for as long as another one, which is not written."""
    return not short.is_written and (1 not in short.points or 1 in long.points and not long.is_written)
