"""The meaning of P-code, Ghidra's language of instructions, as terms. `pypcode` translates machine code to it."""

import pypcode

import memories
import terms as t
from lifted import FLAGS, GENERAL, VECTORS, Bytes, NoMeaning, Path, merged, negated, to_integer

LANGUAGES = {"x86_64": "x86:LE:64:default", "aarch64": "AARCH64:LE:64:v8A"}
# Operations of a path, at most: loops over 64 bits end before.
STEPS = 600
# Calls of operations by name that change nothing: they mark accesses as atomic, or order them.
EMPTY = {"LOCK", "UNLOCK", "XACQUIRE", "XRELEASE", "Hint_Yield", "DataMemoryBarrier", "DataSynchronizationBarrier",
         "InstructionSynchronizationBarrier", "Hint_Prefetch", "Yield", "LOAcquire", "LORelease"}
# Calls that a single thread answers with a number: exclusive stores succeed.
ANSWERS = {"ExclusiveMonitorPass": 1, "ExclusiveMonitorsStatus": 0}


class Pcode:
    """Translates forms, and reads their P-code."""

    name = "pcode"

    def __init__(self):
        self.contexts = {machine: pypcode.Context(language) for machine, language in LANGUAGES.items()}

    def lift(self, form):
        """Returns what is in each place after a form, and the condition of a fault."""
        context = self.contexts[form.machine]
        try:
            # The first translation of some instructions has one operation twice and lacks another.
            context.translate(form.code, base_address=form.address)
            # The translation owns its operations.
            translation = context.translate(form.code, base_address=form.address)
        except (pypcode.BadDataError, pypcode.UnimplError) as error:
            raise NoMeaning(f"not translated: {error}") from error
        ops = translation.ops
        marks = [mark.size for op in ops if op.opcode == pypcode.OpCode.IMARK for mark in op.inputs]
        if sum(marks) != len(form.code):
            raise NoMeaning(f"{sum(marks)} of {len(form.code)} bytes are translated")
        places = Places(context, form.machine)
        return merged(Run(ops, form).paths(places.initial()), places.read)


class Places:
    """The numbers of the bytes of registers and flags."""

    def __init__(self, context, machine):
        at = {name.lower(): node.offset for name, node in context.registers.items()}
        self.general = [at[name] for name in GENERAL[machine]]
        self.flags = [at[name.lower()] for name in FLAGS[machine]]
        vector = "xmm" if machine == "x86_64" else "q"
        self.vectors = [at[f"{vector}{number}"] for number in range(VECTORS[machine])]

    def initial(self):
        registers = Bytes("register")
        for number, at in enumerate(self.general):
            registers.set(at, t.var(f"r{number}", 64))
        for number, at in enumerate(self.flags):
            registers.set(at, t.number(t.var(f"f{number}", t.BOOL), 8))
        for number, at in enumerate(self.vectors):
            registers.set(at, t.concat(t.var(f"h{number}", 64), t.var(f"v{number}", 64)))
        return registers

    def read(self, registers):
        places = {f"r{number}": registers.get(at, 8) for number, at in enumerate(self.general)}
        places |= {f"f{number}": t.bit(registers.get(at, 1), 0) for number, at in enumerate(self.flags)}
        for number, at in enumerate(self.vectors):
            places |= {f"v{number}": registers.get(at, 8), f"h{number}": registers.get(at + 8, 8)}
        return places


class Run:
    """Follows all paths through P-code."""

    def __init__(self, ops, form):
        self.ops = ops
        self.next = t.const(form.address + len(form.code), 64)
        marks = [(index, op) for index, op in enumerate(ops) if op.opcode == pypcode.OpCode.IMARK]
        # The operations of instructions, by their addresses.
        self.instructions = {op.inputs[0].offset: index for index, op in marks}

    def paths(self, registers):
        """Returns the paths from a state."""
        ended = []
        first = State({"register": registers, "unique": Bytes("unique")}, t.var("memory", t.MEMORY), t.TRUE, 0)
        work = [first]
        while work:
            state = work.pop()
            if state.steps > STEPS:
                # No state must go there, as none may where there is a fault.
                ended.append(state.end(self.next, is_fault=True))
                continue
            if state.at >= len(self.ops):
                ended.append(state.end(self.next))
                continue
            op = self.ops[state.at]
            state.steps += 1
            if op.opcode.name in ("BRANCH", "CBRANCH"):
                self.branch(state, op, work, ended)
            elif op.opcode.name in ("BRANCHIND", "CALLIND", "RETURN"):
                ended.append(state.end(state.get(op.inputs[0])))
            elif op.opcode.name == "CALL":
                ended.append(state.end(t.const(op.inputs[0].offset, 64)))
            else:
                state.run(op)
                state.at += 1
                work.append(state)
        return ended

    def branch(self, state, op, work, ended):
        taken = t.TRUE
        if op.opcode.name == "CBRANCH":
            taken = t.no(t.eq(state.get(op.inputs[1]), t.const(0, 8)))
        for condition, is_taken in ((taken, True), (t.no(taken), False)):
            if condition is t.FALSE:
                continue
            other = state.fork(condition)
            target = op.inputs[0]
            if not is_taken:
                other.at += 1
                work.append(other)
            elif target.space.name == "const":
                other.at += t.signed(target.offset & 0xFFFFFFFF, 32)
                work.append(other)
            elif target.offset in self.instructions and self.instructions[target.offset] > state.at:
                other.at = self.instructions[target.offset]
                work.append(other)
            else:
                ended.append(other.end(t.const(target.offset, 64)))


class State:
    """A point of a path."""

    def __init__(self, spaces, memory, condition, at, steps=0):
        self.spaces, self.memory, self.condition, self.at, self.steps = spaces, memory, condition, at, steps

    def fork(self, condition):
        spaces = {name: space.copy() for name, space in self.spaces.items()}
        return State(spaces, self.memory, t.both(self.condition, condition), self.at, self.steps)

    def end(self, pc, is_fault=False):
        return Path(self.condition, self.spaces["register"], self.memory, pc, is_fault)

    def get(self, node):
        if node.space.name == "const":
            return t.const(node.offset, 8 * node.size)
        if node.space.name == "ram":
            return memories.read(self.memory, t.const(node.offset, 64), node.size)
        return self.spaces[node.space.name].get(node.offset, node.size)

    def set(self, node, value):
        assert value.width == 8 * node.size, (node, value.width)
        if node.space.name == "ram":
            self.memory = memories.write(self.memory, t.const(node.offset, 64), value)
        else:
            self.spaces[node.space.name].set(node.offset, value)

    def run(self, op):
        """Executes an operation that does not branch."""
        name = op.opcode.name
        if name == "IMARK":
            return
        if name == "CALLOTHER":
            called = op.inputs[0].getUserDefinedOpName()
            if called in ANSWERS:
                self.set(op.output, t.const(ANSWERS[called], 8 * op.output.size))
            elif called not in EMPTY or op.output is not None:
                raise NoMeaning(f"calls {called}")
        elif name == "STORE":
            _, address, value = map(self.get, op.inputs)
            self.memory = memories.write(self.memory, address, value)
        elif name == "LOAD":
            self.set(op.output, memories.read(self.memory, self.get(op.inputs[1]), op.output.size))
        else:
            args = [self.get(node) for node in op.inputs]
            self.set(op.output, result(name, args, 8 * op.output.size))


BINARY = {"INT_ADD": "bvadd", "INT_SUB": "bvsub", "INT_MULT": "bvmul", "INT_AND": "bvand", "INT_OR": "bvor",
          "INT_XOR": "bvxor", "INT_DIV": "bvudiv", "INT_SDIV": "bvsdiv", "INT_REM": "bvurem", "INT_SREM": "bvsrem",
          "BOOL_AND": "bvand", "BOOL_OR": "bvor", "BOOL_XOR": "bvxor"}
RELATIONS = {"INT_LESS": "bvult", "INT_LESSEQUAL": "bvule", "INT_SLESS": "bvslt", "INT_SLESSEQUAL": "bvsle"}
SHIFTS = {"INT_LEFT": "bvshl", "INT_RIGHT": "bvlshr", "INT_SRIGHT": "bvashr"}
FLOATS = {"FLOAT_ADD": "Add", "FLOAT_SUB": "Sub", "FLOAT_MULT": "Mul", "FLOAT_DIV": "Div", "FLOAT_SQRT": "Sqrt",
          "FLOAT_CEIL": "Ceil", "FLOAT_FLOOR": "Floor", "FLOAT_ROUND": "Away", "FLOAT_INT2FLOAT": "FromSigned",
          "FLOAT_FLOAT2FLOAT": "Convert"}
FLOAT_RELATIONS = {"FLOAT_LESS": "fp.lt", "FLOAT_LESSEQUAL": "fp.leq", "FLOAT_EQUAL": "fp.eq"}


def result(name, args, width):
    """Returns the result of an operation. Booleans are bytes."""
    if name in BINARY:
        return t.binary(BINARY[name], *args)
    if name in RELATIONS:
        return t.number(t.binary(RELATIONS[name], *args), width)
    if name in SHIFTS:
        return shifted(SHIFTS[name], *args)
    if name.startswith("FLOAT"):
        return of_floats(name, args, width)
    if name not in OTHERS:
        raise NoMeaning(f"uses {name}")
    return OTHERS[name](args, width)


def shifted(op, a, by):
    """Shifts by an amount of any width."""
    if by.width <= a.width:
        return t.binary(op, a, t.zext(by, a.width))
    is_large = t.binary("bvule", t.const(a.width, by.width), by)
    return t.binary(op, a, t.ite(is_large, t.const(-1, a.width), t.extract(by, 0, a.width)))


def carry(a, b):
    return t.binary("bvult", t.binary("bvadd", a, b), a)


def signed_carry(op, a, b):
    """Returns whether a signed sum or difference does not fit: computed with a bit more."""
    wide = t.binary(op, t.sext(a, a.width + 1), t.sext(b, a.width + 1))
    return t.no(t.eq(t.extract(wide, a.width, 1), t.extract(wide, a.width - 1, 1)))


def without_low(a, count):
    return t.extract(a, count, a.width - count)


def flag(function):
    return lambda args, width: t.number(function(*args), width)


OTHERS = {
    "COPY": lambda args, width: args[0],
    "INT_EQUAL": flag(t.eq),
    "INT_NOTEQUAL": flag(lambda a, b: t.no(t.eq(a, b))),
    "INT_CARRY": flag(carry),
    "INT_SCARRY": flag(lambda a, b: signed_carry("bvadd", a, b)),
    "INT_SBORROW": flag(lambda a, b: signed_carry("bvsub", a, b)),
    "BOOL_NEGATE": lambda args, width: t.binary("bvxor", args[0], t.const(1, width)),
    "INT_NEGATE": lambda args, width: t.unary("bvnot", args[0]),
    "INT_2COMP": lambda args, width: t.unary("bvneg", args[0]),
    "INT_ZEXT": lambda args, width: t.zext(args[0], width),
    "INT_SEXT": lambda args, width: t.sext(args[0], width),
    "PIECE": lambda args, width: t.concat(*args),
    "SUBPIECE": lambda args, width: t.resized(without_low(args[0], 8 * args[1].value), width),
    "POPCOUNT": lambda args, width: t.population(args[0], width),
    "LZCOUNT": lambda args, width: t.leading_zeros(args[0], width),
}


def of_floats(name, args, width):
    if any(arg.width not in t.FORMATS for arg in args) and name != "FLOAT_INT2FLOAT":
        raise NoMeaning(f"{name} of other formats")
    if name == "FLOAT_TRUNC":
        return to_integer("ToSigned", "Trunc", args[0], width)
    if name in FLOATS:
        return t.floats(FLOATS[name], args, width)
    if name in FLOAT_RELATIONS:
        return t.number(t.float_relation(FLOAT_RELATIONS[name], *args), width)
    if name == "FLOAT_NOTEQUAL":
        return t.number(t.no(t.float_relation("fp.eq", *args)), width)
    if name == "FLOAT_NAN":
        return t.number(t.is_nan(args[0]), width)
    if name == "FLOAT_NEG":
        return negated(args[0])
    if name == "FLOAT_ABS":
        return t.binary("bvand", args[0], t.const((1 << (args[0].width - 1)) - 1, args[0].width))
    raise NoMeaning(f"uses {name}")
