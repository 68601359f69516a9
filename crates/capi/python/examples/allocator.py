"""A register allocator in Python: every value lives in a slot, except between the instructions of one block, where the
last value stays in its register.

    python allocator.py             compares it with the allocators of the library
    kingpost test --regalloc-command 'python allocator.py --serve' filetests
"""

import sys

import kingpost
from kingpost import Answer, Impossible, choose_registers


def keep_last(problem):
    """Returns the answer to a problem."""
    answer = Answer(problem)
    slots = {value: answer.slot(value) for value in problem.values}
    live = live_references(problem, answer)
    parameters = {block.number: block.parameters for block in problem.blocks}
    # The values of a branch exist on one edge, which alone leads to its successor: they are stored there.
    heads = {block.number: block.instructions[0] for block in problem.blocks}
    for block in problem.blocks:
        held = {}
        followers = [*block.instructions[1:], None]
        for instruction, follower in zip(block.instructions, followers):
            for edge in instruction.edges:
                if edge.arguments:
                    pass_arguments(problem, answer, instruction, edge.arguments, parameters[edge.block], slots)
                    held = {}
            in_place = changed_in_place(problem, answer, instruction, slots, held)
            registers = {value: register for register, value in held.items()}
            locations = choose_registers(problem, instruction, registers.get)
            locations = [None if index in in_place else at for index, at in enumerate(locations)]
            for operand, location in zip(instruction.operands, locations):
                if not operand.is_def and location and held.get(location) != operand.value:
                    answer.fill(instruction, slots[operand.value], location, operand.value)
                    held[location] = operand.value
            places = [at or slots[op.value] for op, at in zip(instruction.operands, locations)]
            answer.place(instruction, [in_place.get(index, at) for index, at in enumerate(places)])
            written = {at for op, at in zip(instruction.operands, locations) if at and op.is_def}
            held = {at: value for at, value in held.items() if at not in written | instruction.clobbers}
            if "safepoint" in instruction.flags:
                # The collector moves objects, and changes the slots that point to them.
                answer.stack_map(instruction, {slots[value] for value in live[instruction.number]})
                held = {at: value for at, value in held.items() if not problem.values[value][2]}
            edges = {value: heads[edge.block] for edge in instruction.edges for value in edge.defines}
            for operand, location in zip(instruction.operands, locations):
                if operand.is_def and location:
                    held[location] = operand.value
                    store = follower or edges.get(operand.value)
                    if store:
                        answer.spill(store, location, slots[operand.value], operand.value)
    return answer


def copy(problem, answer, instruction, source, target, value):
    """Copies a value from a slot to a slot before an instruction, by the first register of its class. Returns it."""
    kind = problem.values[value][0]
    register = next(iter(problem.machine.registers.get(kind, [])), None) or problem.machine.scratch.get(kind)
    if register:
        answer.fill(instruction, source, register, value)
        answer.spill(instruction, register, target, value)
    elif problem.machine.can_move_slots.get(kind):
        answer.slot_move(instruction, source, target, value)
    else:
        raise Impossible(instruction, kind)
    return register


def changed_in_place(problem, answer, instruction, slots, held):
    """Returns the slots of results that take over the slot of an operand in memory, and of that operand, by index. Copies
    the operand to the slot of the result before the instruction.
    """
    in_place = {}
    for index, operand in enumerate(instruction.operands):
        if operand.is_rmw and instruction.operands[operand.reuse].constraint in ("any", "mem", "stack"):
            used, slot = instruction.operands[operand.reuse].value, slots[operand.value]
            held.pop(copy(problem, answer, instruction, slots[used], slot, used), None)
            in_place.update({index: slot, operand.reuse: slot})
    return in_place


def live_references(problem, answer):
    """Returns, for each safepoint by number, the references that are used after it and existed before it."""
    live = {i.number: set() for i in problem.instructions if "safepoint" in i.flags}
    if not live or not any(is_reference for _, _, is_reference in problem.values.values()):
        return live
    predecessors = {block.number: [] for block in problem.blocks}
    for block in problem.blocks:
        for edge in block.instructions[-1].edges:
            predecessors[edge.block].append(block)
    # The values of a branch exist from the head of a successor on.
    defined = {value: edge.block for i in problem.instructions for edge in i.edges for value in edge.defines}
    defined.update({value: block.number for block in problem.blocks for value in block.parameters})
    reached = set()

    def walk(value, block, index):
        """Marks a reference as live before an instruction, and on all paths to there."""
        work = [(block, index)]
        while work:
            block, index = work.pop()
            is_found = False
            for at in range(index - 1, -1, -1):
                answer.steps += 1
                instruction = block.instructions[at]
                if any(operand.is_def and operand.value == value for operand in instruction.operands):
                    is_found = True
                    break
                if instruction.number in live:
                    live[instruction.number].add(value)
            if not is_found and defined.get(value) != block.number and (value, block.number) not in reached:
                reached.add((value, block.number))
                work += [(before, len(before.instructions)) for before in predecessors[block.number]]

    for block in problem.blocks:
        last = {}
        for index, instruction in enumerate(block.instructions):
            uses = [operand.value for operand in instruction.operands if not operand.is_def]
            uses += [value for edge in instruction.edges for value in edge.arguments]
            last.update({value: index for value in uses if problem.values[value][2]})
        for value, index in last.items():
            walk(value, block, index)
    return live


def pass_arguments(problem, answer, jump, arguments, parameters, slots):
    """Copies the arguments of a jump to the slots of the parameters, all at once."""
    sources = {argument: slots[argument] for argument in arguments}
    for argument in sorted(set(arguments).intersection(parameters)):
        # The slot of this argument is written before it is read. It is copied first.
        sources[argument] = answer.slot(argument)
        copy(problem, answer, jump, slots[argument], sources[argument], argument)
    for parameter, argument in zip(parameters, arguments):
        copy(problem, answer, jump, sources[argument], slots[parameter], argument)


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
