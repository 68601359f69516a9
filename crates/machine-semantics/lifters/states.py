"""Terms in concrete states. Functions of floats, which z3 knows nothing about, are computed here."""

import random
import struct

import floats
import terms as t

# Numbers at which roundings, conversions and choices differ.
NUMBERS = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 0.1, 127.5, 32767.5, 2147483647.0, 1e10, 1e300, float("inf"), float("nan")]
# The last one is above a tie of 32 bits, and a tie after it is rounded to 64.
INTEGERS = [0, 1, 2, 0x80, 0xffff, 1 << 31, 1 << 63, (1 << 64) - 1, (1 << 62) + (1 << 38) + 1]
PACKS = {16: "<e", 32: "<f", 64: "<d"}
# States in which a difference is looked for.
STATES = 400


def bits_of(number, width):
    """Returns the bits of the float that is near a number; the largest one for a number that is too large."""
    try:
        return int.from_bytes(struct.pack(PACKS[width], number), "little")
    except OverflowError:
        return (1 << (width - 1)) - 1 - (1 << floats.FORMATS[width][1])


def word(source):
    """Returns 64 random bits: an integer, or floats."""
    kind = source.randrange(6)
    if kind < 2:
        return source.choice([*INTEGERS, source.getrandbits(64)])
    width = source.choice([16, 32, 64])
    lanes = 0
    for _ in range(64 // width):
        number = source.choice(NUMBERS) if kind < 5 else source.uniform(-1000, 1000)
        lanes = lanes << width | bits_of(source.choice([number, -number]), width)
    return lanes


class State:
    """The values of variables, chosen when they are first read. In some states they are few, so that many are equal."""

    def __init__(self, seed):
        self.source = random.Random(seed)
        self.values = {}
        self.has_few = seed % 4 == 0

    def word(self):
        return self.source.getrandbits(1) if self.has_few else word(self.source)

    def variable(self, node):
        if node.value not in self.values:
            self.values[node.value] = self.word() if node.width > 0 else bool(self.source.getrandbits(1))
        return {} if node.width == t.MEMORY else self.values[node.value] % (1 << max(node.width, 1))

    def read(self, memory, address):
        """Returns a byte of a memory, which has the bytes that were written."""
        if address in memory:
            return memory[address]
        name = f"memory[{address - address % 8:#x}]"
        if name not in self.values:
            self.values[name] = self.word()
        return self.values[name] >> 8 * (address % 8) & 255

    def value(self, root):
        """Returns the value of a term."""
        done = {}
        for node in t.below([root]):
            done[node] = self.applied(node, [done[arg] for arg in node.args])
        return done[root]

    def applied(self, node, args):
        op, widths = node.op, [arg.width for arg in node.args]
        if op == "const":
            return node.value
        if op == "var":
            return self.variable(node)
        if op == "select":
            return self.read(*args)
        if op == "store":
            return {**args[0], args[1]: args[2]}
        if op == "call":
            return floats.apply(node.value, args)
        if op == "float_relation":
            return floats.relation(node.value, args, widths[0])
        if op == "=" and widths[0] == t.MEMORY:
            return all(self.read(args[0], at) == self.read(args[1], at) for at in args[0].keys() | args[1].keys())
        value = OPERATIONS[op](args, widths, node)
        return value % (1 << node.width) if node.width > 0 else value


def quotient(args, widths, is_signed):
    a, b = (t.signed(arg, width) if is_signed else arg for arg, width in zip(args, widths))
    if b == 0:
        return 1 if a < 0 else -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(args, widths, is_signed):
    a, b = (t.signed(arg, width) if is_signed else arg for arg, width in zip(args, widths))
    return a if b == 0 else a - b * quotient(args, widths, is_signed)


OPERATIONS = {
    "not": lambda args, widths, node: not args[0],
    "and": lambda args, widths, node: args[0] and args[1],
    "or": lambda args, widths, node: args[0] or args[1],
    "=": lambda args, widths, node: args[0] == args[1],
    "ite": lambda args, widths, node: args[1] if args[0] else args[2],
    "extract": lambda args, widths, node: args[0] >> node.value,
    "concat": lambda args, widths, node: args[0] << widths[1] | args[1],
    "sign_extend": lambda args, widths, node: t.signed(args[0], widths[0]),
    "bvnot": lambda args, widths, node: ~args[0],
    "bvneg": lambda args, widths, node: -args[0],
    "bvudiv": lambda args, widths, node: quotient(args, widths, False),
    "bvsdiv": lambda args, widths, node: quotient(args, widths, True),
    "bvurem": lambda args, widths, node: remainder(args, widths, False),
    "bvsrem": lambda args, widths, node: remainder(args, widths, True),
    **{name: (lambda fold: lambda args, widths, node: fold(*args, widths[0]))(fold) for name, fold in t.FOLDS.items()},
}


def counterexample(conditions):
    """Returns a state in which all conditions hold; `None` if none of some random states is one."""
    for seed in range(STATES):
        state = State(seed)
        if all(state.value(condition) for condition in conditions):
            return state
    return None
