"""A register allocator in Python: every value lives in a slot, except between the instructions of one block, where the
last value stays in its register.

    python allocator.py             compares it with the allocators of the library
    kingpost test --regalloc-command 'python allocator.py --serve' filetests
"""

import sys

import kingpost
from kingpost import Answer


def keep_last(problem):
    """Returns the answer to a problem."""
    answer = Answer(problem)
    slots = {value: answer.slot(value) for value in problem.values}
    for block in problem.blocks:
        held = {}
        for instruction in block.instructions:
            if instruction.edges and any(edge.arguments for edge in instruction.edges):
                pass_arguments(problem, answer, instruction, slots)
                held = {}
            locations = choose(problem, instruction, held)
            for operand, location in zip(instruction.operands, locations):
                if operand.is_def or location is None or held.get(location) == operand.value:
                    continue
                answer.fill(instruction, slots[operand.value], location, operand.value)
            answer.place(instruction, [at or slots[op.value] for op, at in zip(instruction.operands, locations)])
            written = {at for op, at in zip(instruction.operands, locations) if at}
            held = {at: value for at, value in held.items() if at not in written | instruction.clobbers}
            for operand, location in zip(instruction.operands, locations):
                if operand.is_def and location:
                    held[location] = operand.value
                    store = after(problem, block, instruction, operand.value)
                    if store:
                        answer.spill(store, location, slots[operand.value], operand.value)
    return answer


def after(problem, block, instruction, value):
    """Returns the instruction before which a value of an instruction is stored."""
    if instruction is not block.instructions[-1]:
        return block.instructions[block.instructions.index(instruction) + 1]
    # A value of a branch exists on one edge, which alone leads to its successor.
    targets = [edge.block for edge in instruction.edges if value in edge.defines]
    return next((block.instructions[0] for block in problem.blocks if block.number in targets), None)


def choose(problem, instruction, held):
    """Returns a register for each operand, or `None` for an operand in its slot."""
    operands, chosen = instruction.operands, {}
    # An early use and a late def may share a register; all else may not.
    before, after = set(), set(instruction.clobbers)

    def is_free(operand, register):
        late = operand.is_def or not operand.is_early
        early = not operand.is_def or operand.is_early
        return not (late and register in after or early and register in before)

    def take(index, register):
        operand = operands[index]
        if not operand.is_def or operand.is_early:
            before.add(register)
        if operand.is_def or not operand.is_early:
            after.add(register)
        chosen[index] = register

    order = {"fixed": 0, "in": 1}
    # A def that reuses the location of a use takes over its register.
    reused = {operand.reuse: index for index, operand in enumerate(operands) if operand.reuse is not None}
    wanted = [i for i, op in enumerate(operands) if op.constraint in ("fixed", "in", "reg") or i in reused]
    for index in sorted(wanted, key=lambda index: (order.get(operands[index].constraint, 2), index not in reused)):
        operand = operands[index]
        registers = operand.registers or problem.machine.registers[problem.values[operand.value][0]]
        keeping = [register for register in registers if held.get(register) == operand.value and not operand.is_def]
        for register in [*keeping, *registers]:
            shared = index in reused and register in after
            if operand.constraint == "fixed" or is_free(operand, register) and not shared:
                take(index, register)
                if index in reused:
                    take(reused[index], register)
                break
        else:
            raise ValueError(f"i{instruction.number}: there is no register for operand {index}")
    for index in range(len(operands)):
        chosen.setdefault(index, None)
    return [chosen[index] for index in range(len(operands))]


def pass_arguments(problem, answer, jump, slots):
    """Copies the arguments of a jump to the slots of the parameters, all at once."""
    edge = jump.edges[0]
    parameters = next(block.parameters for block in problem.blocks if block.number == edge.block)
    sources = {argument: slots[argument] for argument in edge.arguments}

    def copy(argument, slot):
        register = problem.machine.registers[problem.values[argument][0]][0]
        answer.fill(jump, sources[argument], register, argument)
        answer.spill(jump, register, slot, argument)

    for argument in set(edge.arguments).intersection(parameters):
        # The slot of this argument is written before it is read. It is copied first.
        slot = answer.slot(argument)
        copy(argument, slot)
        sources[argument] = slot
    for parameter, argument in zip(parameters, edge.arguments):
        copy(argument, slots[parameter])


SUM = """
function %sum(i32) -> i32 {
block0(v0: i32):
    v1 = iconst.i32 0
    jump block1(v0, v1)
block1(v2: i32, v3: i32):
    v4 = iadd v3, v2
    v5 = iconst.i32 1
    v6 = isub v2, v5
    brif v6, block1(v6, v4), block2
block2:
    return v4
}
"""

if "--serve" in sys.argv:
    kingpost.serve(keep_last)
else:
    module = kingpost.compile(SUM, allocator=keep_last)
    print("sum(100) =", module["sum"](100))
    for row in kingpost.allocate(SUM, ["ssa", "spill_all", keep_last]):
        print(row["allocator"], row["weighted_cost"])
