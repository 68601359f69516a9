"""Operations of VEX on integers; `libvex_ir.h` of Valgrind defines them."""

import re

import terms as t
import vex_floats
import vex_lanes
from lifted import NoMeaning


def result(name, args):
    """Returns the term of an operation on terms."""
    for pattern, function in PATTERNS:
        match = pattern.fullmatch(name)
        if match:
            return function(match, args)
    value = vex_floats.result(name, args)
    value = vex_lanes.result(name, args) if value is None else value
    if value is None:
        raise NoMeaning(f"uses {name}")
    return value


BINARY = {"Add": "bvadd", "Sub": "bvsub", "Mul": "bvmul", "And": "bvand", "Or": "bvor", "Xor": "bvxor"}
SHIFTS = {"Shl": "bvshl", "Shr": "bvlshr", "Sar": "bvashr"}
RELATIONS = {"LT": {"U": "bvult", "S": "bvslt"}, "LE": {"U": "bvule", "S": "bvsle"}}


def of_booleans(match, args):
    return {"Not": t.no, "And": t.both, "Or": t.either}[match[1]](*args)


def shift(match, args):
    """Shifts. VEX defines amounts below the width."""
    return t.binary(SHIFTS[match[1]], args[0], t.resized(args[1], args[0].width))


def equal(match, args):
    return t.eq(*args) if match[1] == "EQ" else t.no(t.eq(*args))


def order(match, args):
    return t.binary(RELATIONS[match[1]][match[3]], *args)


def wide_product(match, args):
    extend, width = (t.sext if match[1] == "S" else t.zext), int(match[2])
    return t.binary("bvmul", *(extend(arg, 2 * width) for arg in args))


def quotient(match, args):
    return t.binary("bvsdiv" if match[1] == "S" else "bvudiv", *args)


def quotient_and_remainder(match, args):
    """Divides a number by one of half the width: the remainder is above the quotient."""
    kind, half = match[1], int(match[3])
    extend = t.sext if kind == "S" else t.zext
    dividend, divisor = args[0], extend(args[1], args[0].width)
    parts = [narrow(f"bv{kind.lower()}{op}", dividend, divisor) for op in ("rem", "div")]
    return t.concat(*(t.extract(part, 0, half) for part in parts))


def narrow(op, a, b):
    """Returns a quotient or remainder of numbers that are extended, computed without the extensions."""
    width = max(number.args[0].width if number.op == "sign_extend" else number.width for number in (a, b))
    if width == a.width:
        return t.binary(op, a, b)
    x, y = (t.sext(number.args[0], width) for number in (a, b))
    least = t.const(1 << (width - 1), width)
    # The one quotient that does not fit is positive.
    is_large = t.both(t.eq(x, least), t.eq(y, t.ones(width)))
    largest = t.zext(least, a.width) if op == "bvsdiv" else t.const(0, a.width)
    return t.ite(is_large, largest, t.sext(t.binary(op, x, y), a.width))


def truncated(match, args):
    width = int(match[2])
    return t.bit(args[0], 0) if width == 1 else t.extract(args[0], 0, width)


def widened(match, args):
    width = int(match[3])
    if match[1] == "1":
        return t.number(args[0], width) if match[2] == "U" else t.ite(args[0], t.ones(width), t.const(0, width))
    return (t.sext if match[2] == "S" else t.zext)(args[0], width)


def high_part(match, args):
    width = int(match[2])
    return t.extract(args[0], args[0].width - width, width)


def count(function):
    return lambda match, args: function(args[0], args[0].width)


PATTERNS = [(re.compile(pattern), function) for pattern, function in (
    (r"(Not|And|Or)1", of_booleans),
    (r"(Add|Sub|Mul|And|Or|Xor)(8|16|32|64|V128)", lambda match, args: t.binary(BINARY[match[1]], *args)),
    (r"Not(8|16|32|64|V128)", lambda match, args: t.unary("bvnot", *args)),
    (r"(Shl|Shr|Sar)(8|16|32|64)", shift),
    (r"(?:Cas|Exp)?Cmp(EQ|NE)(8|16|32|64)", equal),
    (r"Cmp(LT|LE)(32|64)([US])", order),
    (r"Mull([US])(8|16|32|64)", wide_product),
    (r"Div([US])(32|64)", quotient),
    (r"DivMod([US])(64|128)to(32|64)", quotient_and_remainder),
    (r"(1|8|16|32|64)([US])to(8|16|32|64|128)", widened),
    (r"(16|32|64|128)to(1|8|16|32|64)", truncated),
    (r"(16|32|64|128|V128)HIto(8|16|32|64)", high_part),
    (r"(8|16|32|64)HLto(16|32|64|128|V128)", lambda match, args: t.concat(*args)),
    (r"(32|64)UtoV128", lambda match, args: t.zext(args[0], 128)),
    (r"V128to(32|64)", lambda match, args: t.extract(args[0], 0, int(match[1]))),
    (r"Clz(?:Nat)?(32|64)", count(t.leading_zeros)),
    (r"Ctz(?:Nat)?(32|64)", count(t.trailing_zeros)),
    (r"PopCount(32|64)", count(t.population)),
)]
