"""The compiler back end Kingpost: compile and run functions in CLIF, and compare register allocators.

    >>> import kingpost
    >>> module = kingpost.compile("function %add(i32, i32) -> i32 { block0(v0: i32, v1: i32): v2 = iadd v0, v1; return v2 }")

`verify` checks functions, `compile` returns callable functions, `compile_object` an object file, `allocate` a table of
the allocations of all allocators, `live_ranges` pictures. An allocator is a function from a `Problem` to an `Answer`; it
may call `choose_registers` for the operands of one instruction.
"""

from ._library import KingpostError
from .allocation import allocate, check, solve
from .compilation import Config, Finding, Module, allocators, compile, compile_object, verify
from .live_ranges import LiveRanges, live_ranges
from .problem import Answer, Block, Edge, Impossible, Instruction, Machine, Operand, Problem, answer_text, serve
from .registers import choose_registers

__all__ = [
    "Answer",
    "Block",
    "Config",
    "Edge",
    "Finding",
    "Impossible",
    "Instruction",
    "KingpostError",
    "LiveRanges",
    "Machine",
    "Module",
    "Operand",
    "Problem",
    "allocate",
    "allocators",
    "answer_text",
    "check",
    "choose_registers",
    "compile",
    "compile_object",
    "live_ranges",
    "serve",
    "solve",
    "verify",
]
