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
    live = live_references(problem)
    for block in problem.blocks:
        held = {}
        for instruction in block.instructions:
            if any(edge.arguments for edge in instruction.edges):
                pass_arguments(problem, answer, instruction, slots)
                held = {}
            in_place = changed_in_place(problem, answer, instruction, slots, held)
            locations = choose(problem, instruction, held, in_place)
            for operand, location in zip(instruction.operands, locations):
                if operand.is_def or location is None or held.get(location) == operand.value:
                    continue
                answer.fill(instruction, slots[operand.value], location, operand.value)
            places = [at or slots[op.value] for op, at in zip(instruction.operands, locations)]
            answer.place(instruction, [in_place.get(index, at) for index, at in enumerate(places)])
            written = {at for at in locations if at}
            held = {at: value for at, value in held.items() if at not in written | instruction.clobbers}
            if "safepoint" in instruction.flags:
                # The collector moves objects, and changes the slots that point to them.
                answer.stack_map(instruction, {slots[value] for value in live[instruction.number]})
                held = {at: value for at, value in held.items() if not problem.values[value][2]}
            for operand, location in zip(instruction.operands, locations):
                if operand.is_def and location:
                    held[location] = operand.value
                    store = after(problem, block, instruction, operand.value)
                    if store:
                        answer.spill(store, location, slots[operand.value], operand.value)
    return answer


def changed_in_place(problem, answer, instruction, slots, held):
    """Returns the slots of results that take over the slot of an operand in memory, and of that operand, by index. Copies
    the operand to the slot of the result before the instruction.
    """
    in_place = {}
    for index, operand in enumerate(instruction.operands):
        if not operand.is_rmw or instruction.operands[operand.reuse].constraint not in ("mem", "stack"):
            continue
        used = instruction.operands[operand.reuse].value
        register = problem.machine.registers[problem.values[used][0]][0]
        answer.fill(instruction, slots[used], register, used)
        answer.spill(instruction, register, slots[operand.value], used)
        held.pop(register, None)
        in_place.update({index: slots[operand.value], operand.reuse: slots[operand.value]})
    return in_place


def live_references(problem):
    """Returns, for each safepoint by number, the references that are live after it and existed before it."""
    live_in, live = {block.number: set() for block in problem.blocks}, {}
    changed = True
    while changed:
        changed = False
        for block in reversed(problem.blocks):
            now = set()
            for instruction in reversed(block.instructions):
                for edge in instruction.edges:
                    now |= live_in[edge.block]
                now -= {operand.value for operand in instruction.operands if operand.is_def}
                live[instruction.number] = set(now)
                # The parameters of successors have their values before a branch, copied from the arguments.
                parameters = {edge.block for edge in instruction.edges if edge.arguments}
                now -= {p for b in problem.blocks if b.number in parameters for p in b.parameters}
                now |= {argument for edge in instruction.edges for argument in edge.arguments}
                now |= {operand.value for operand in instruction.operands if not operand.is_def}
                now = {value for value in now if problem.values[value][2]}
            if now != live_in[block.number]:
                live_in[block.number], changed = now, True
    return live


def after(problem, block, instruction, value):
    """Returns the instruction before which a value of an instruction is stored."""
    if instruction is not block.instructions[-1]:
        return block.instructions[block.instructions.index(instruction) + 1]
    # A value of a branch exists on one edge, which alone leads to its successor.
    targets = [edge.block for edge in instruction.edges if value in edge.defines]
    return next((block.instructions[0] for block in problem.blocks if block.number in targets), None)


def choose(problem, instruction, held, in_place):
    """Returns a register for each operand, or `None` for an operand in a slot."""
    operands, chosen = instruction.operands, {}
    # A def that reuses the location of a use takes over its register.
    pairs = ((operand.reuse, index) for index, operand in enumerate(operands) if index not in in_place)
    reused = {use: index for use, index in pairs if use is not None}

    def halves(operand):
        """Returns whether the operand needs its register before the instruction, and after it."""
        return not operand.is_def or operand.is_early, operand.is_def or not operand.is_early

    def edges(operand):
        return {edge.block for edge in instruction.edges if operand.value in edge.defines}

    def is_free(index, register):
        operand = operands[index]
        is_kept = instruction.kept.get(register, 0) >= problem.values[operand.value][1]
        if halves(operand)[1] and register in instruction.clobbers and not is_kept:
            return False
        for other in (operands[other] for other, taken in chosen.items() if taken == register):
            both = any(a and b for a, b in zip(halves(operand), halves(other)))
            same = not operand.is_def and not other.is_def and operand.value == other.value
            # Results on different edges never exist together.
            apart = edges(operand) and edges(other) and not edges(operand) & edges(other)
            if both and not same and not apart:
                return False
        return True

    def search(wanted):
        """Chooses registers for the operands of the list, one after the other, and tries again without success."""
        if not wanted:
            return True
        index, operand = wanted[0], operands[wanted[0]]
        together = [index, reused[index]] if index in reused else [index]
        registers = operand.registers or problem.machine.registers[problem.values[operand.value][0]]
        keeping = [register for register in registers if held.get(register) == operand.value and not operand.is_def]
        for register in dict.fromkeys([*keeping, *registers]):
            if operand.constraint == "fixed" or all(is_free(each, register) for each in together):
                chosen.update(dict.fromkeys(together, register))
                if search(wanted[1:]):
                    return True
                for each in together:
                    del chosen[each]
        return False

    order = {"fixed": 0, "in": 1}
    wanted = [i for i, op in enumerate(operands) if op.constraint in ("fixed", "in", "reg") or i in reused]
    if not search(sorted(wanted, key=lambda index: (order.get(operands[index].constraint, 2), index not in reused))):
        raise ValueError(f"i{instruction.number}: there are no registers for its operands")
    return [chosen.get(index) for index in range(len(operands))]


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


def main():
    """Serves one problem, or compares."""
    if "--serve" in sys.argv:
        kingpost.serve(keep_last)
        return
    module = kingpost.compile(SUM, allocator=keep_last)
    print("sum(100) =", module["sum"](100))
    for row in kingpost.allocate(SUM, ["ssa", "spill_all", keep_last]):
        print(row["allocator"], row["weighted_cost"])


if __name__ == "__main__":
    main()
