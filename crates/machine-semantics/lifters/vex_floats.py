"""Operations of VEX on floats, which are functions without a meaning, and on vectors of floats."""

import re

import terms as t
from lifted import NoMeaning, negated, to_integer

# Modes of rounding, by their numbers.
ROUNDINGS = {0: "Nearest", 1: "Floor", 2: "Ceil", 3: "Trunc"}
ARITHMETIC = {"Add", "Sub", "Mul", "Div", "Sqrt"}
RELATIONS = {"EQ": "fp.eq", "LT": "fp.lt", "LE": "fp.leq"}


def nearest(mode):
    if mode.op != "const" or mode.value != 0:
        raise NoMeaning("rounds in another mode")


def rounding(mode):
    """Returns the name of a mode of rounding."""
    if mode.op != "const" or mode.value not in ROUNDINGS:
        raise NoMeaning("rounds in another mode")
    return ROUNDINGS[mode.value]


def absolute(value):
    return t.binary("bvand", value, t.const((1 << (value.width - 1)) - 1, value.width))


def arithmetic(match, args):
    nearest(args[0])
    return t.floats(match[1], args[1:], int(match[2]))


def fused(match, args):
    nearest(args[0])
    product, addend = args[1:3], args[3]
    return t.floats("Fma", [*product, negated(addend) if match[1] == "Sub" else addend], int(match[2]))


def converted(match, args):
    if len(args) == 2:
        nearest(args[0])
    return t.floats("Convert", args[-1:], int(match[2]))


def of_integer(match, args):
    if len(args) == 2:
        nearest(args[0])
    return t.floats("FromSigned" if match[2] == "S" else "FromUnsigned", args[-1:], int(match[3]))


def integer(match, args):
    mode, value = args
    return to_integer("ToSigned" if match[3] == "S" else "ToUnsigned", rounding(mode), value, int(match[2]))


def compared(match, args):
    """Compares: 0x45 for unordered numbers, 1 for less, 0x40 for equal, 0 for greater."""
    less, same = (t.float_relation(op, *args) for op in ("fp.lt", "fp.eq"))
    is_unordered = t.either(*map(t.is_nan, args))
    number = [t.const(value, 32) for value in (0x45, 1, 0x40, 0)]
    return t.ite(is_unordered, number[0], t.ite(less, number[1], t.ite(same, number[2], number[3])))


SCALARS = [(re.compile(pattern), function) for pattern, function in (
    (r"(Add|Sub|Mul|Div|Sqrt)F(32|64)", arithmetic),
    (r"M(Add|Sub)F(32|64)", fused),
    (r"F(16|32|64)toF(16|32|64)", converted),
    (r"I(32|64)([SU])toF(32|64)", of_integer),
    (r"F(32|64)toI(32|64)([SU])", integer),
    (r"RoundF(32|64)toInt", lambda match, args: t.floats(rounding(args[0]), args[1:], args[1].width)),
    (r"CmpF(32|64)", compared),
    (r"NegF(32|64)", lambda match, args: negated(*args)),
    (r"AbsF(32|64)", lambda match, args: absolute(*args)),
    (r"ReinterpI(32|64)asF(32|64)", lambda match, args: args[0]),
    (r"ReinterpF(32|64)asI(32|64)", lambda match, args: args[0]),
)]

# `Add32Fx4` has a mode of rounding and computes all lanes; `Add32F0x4` has none and computes the lowest.
LANES = re.compile(r"(Add|Sub|Mul|Div|Sqrt|Min|Max|Abs|Neg|Cmp(?:EQ|LT|LE|UN))(32|64)F(0?)x(2|4)")


def lane(name, args):
    """Returns a lane of the result."""
    width = args[0].width
    if name in ARITHMETIC:
        return t.floats(name, args, width)
    if name in ("Min", "Max"):
        a, b = args
        first = t.float_relation("fp.lt", *((a, b) if name == "Min" else (b, a)))
        return t.ite(first, a, b)
    if name in ("Abs", "Neg"):
        return absolute(*args) if name == "Abs" else negated(*args)
    relation = name.removeprefix("Cmp")
    holds = t.either(*map(t.is_nan, args)) if relation == "UN" else t.float_relation(RELATIONS[relation], *args)
    return t.ite(holds, t.ones(width), t.const(0, width))


def lanes(match, args):
    name, width, is_scalar = match[1], int(match[2]), match[3] == "0"
    if not is_scalar and name in ARITHMETIC:
        nearest(args[0])
        args = args[1:]
    parts = [[t.extract(arg, at, width) for at in range(0, arg.width, width)] for arg in args]
    values = [lane(name, list(part)) if at == 0 or not is_scalar else part[0] for at, part in enumerate(zip(*parts))]
    whole = values[0]
    for value in values[1:]:
        whole = t.concat(value, whole)
    return whole


def result(name, args):
    """Returns the result of an operation; `None` if the name is not known."""
    for pattern, function in SCALARS:
        match = pattern.fullmatch(name)
        if match:
            return function(match, args)
    match = LANES.fullmatch(name)
    return lanes(match, args) if match else None
