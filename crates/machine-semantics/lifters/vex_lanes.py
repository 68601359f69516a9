"""Operations of VEX on the lanes of vectors of integers."""

import re

import terms as t


def split(value, width):
    """Returns the lanes of a vector, the lowest first."""
    return [t.extract(value, at, width) for at in range(0, value.width, width)]


def joined(lanes):
    whole = lanes[0]
    for lane in lanes[1:]:
        whole = t.concat(lane, whole)
    return whole


def extended(value, kind, width):
    return (t.sext if kind == "S" else t.zext)(value, width)


def saturated(value, kind, width):
    """Returns a signed number of more bits, or the nearest one of `width` bits."""
    least, most = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind == "S" else (0, (1 << width) - 1)
    least, most = (t.const(number, value.width) for number in (least, most))
    small = t.ite(t.binary("bvslt", value, least), least, value)
    return t.extract(t.ite(t.binary("bvslt", most, value), most, small), 0, width)


def mask(condition, width):
    return t.ite(condition, t.ones(width), t.const(0, width))


def wide(op, a, b, kind, more):
    """Returns the result of an operation with more bits."""
    return t.binary(op, *(extended(x, kind, a.width + more) for x in (a, b)))


def smaller(a, b, kind):
    return t.binary("bvslt" if kind == "S" else "bvult", a, b)


def average(a, b, kind):
    total = t.binary("bvadd", wide("bvadd", a, b, kind, 2), t.const(1, a.width + 2))
    return t.extract(total, 1, a.width)


def high_product(a, b, kind):
    return t.extract(wide("bvmul", a, b, kind, a.width), a.width, a.width)


def doubled_product(rounding):
    """Returns the function of the high half of a doubled product, saturated."""
    def function(a, b, kind):
        width, more = a.width, a.width + 2
        product = t.binary("bvshl", wide("bvmul", a, b, "S", more), t.const(1, width + more))
        if rounding:
            product = t.binary("bvadd", product, t.const(1 << (width - 1), width + more))
        return saturated(t.binary("bvashr", product, t.const(width, width + more)), "S", width)
    return function


def shifted(a, b, kind):
    """Shifts left by a signed byte, or right if it is negative."""
    by = t.sext(t.extract(b, 0, 8), max(a.width, 16))
    value = extended(a, kind, max(a.width, 16))
    right = t.binary("bvashr" if kind == "S" else "bvlshr", value, t.unary("bvneg", by))
    is_right = t.binary("bvslt", by, t.const(0, by.width))
    return t.extract(t.ite(is_right, right, t.binary("bvshl", value, by)), 0, a.width)


TWO = {
    "Add": lambda a, b, kind: t.binary("bvadd", a, b),
    "Sub": lambda a, b, kind: t.binary("bvsub", a, b),
    "Mul": lambda a, b, kind: t.binary("bvmul", a, b),
    "MulHi": high_product,
    "Avg": average,
    "Min": lambda a, b, kind: t.ite(smaller(a, b, kind), a, b),
    "Max": lambda a, b, kind: t.ite(smaller(a, b, kind), b, a),
    "CmpEQ": lambda a, b, kind: mask(t.eq(a, b), a.width),
    "CmpGT": lambda a, b, kind: mask(smaller(b, a, kind), a.width),
    "QAdd": lambda a, b, kind: saturated(wide("bvadd", a, b, kind, 2), kind, a.width),
    "QSub": lambda a, b, kind: saturated(wide("bvsub", a, b, kind, 2), kind, a.width),
    "QDMulHi": doubled_product(False),
    "QRDMulHi": doubled_product(True),
    "Sh": shifted,
}


def sign_bits(a, width):
    """Returns the number of bits below the highest one that are equal to it."""
    is_negative = t.bit(a, a.width - 1)
    zeros = t.leading_zeros(t.ite(is_negative, t.unary("bvnot", a), a), width)
    return t.binary("bvsub", zeros, t.const(1, width))


ONE = {
    "Abs": lambda a: t.ite(t.bit(a, a.width - 1), t.unary("bvneg", a), a),
    "Cnt": lambda a: t.population(a, a.width),
    "Clz": lambda a: t.leading_zeros(a, a.width),
    "Cls": lambda a: sign_bits(a, a.width),
}
SHIFTS = {"ShlN": "bvshl", "ShrN": "bvlshr", "SarN": "bvashr"}


def two(match, args):
    function, width, kind = TWO[match[1]], int(match[2]), match[3]
    return joined([function(a, b, kind) for a, b in zip(*(split(arg, width) for arg in args))])


def one(match, args):
    return joined([ONE[match[1]](a) for a in split(args[0], int(match[2]))])


def shift_all(match, args):
    """Shifts all lanes by one amount, which is below their width."""
    width = int(match[2])
    by = t.resized(args[1], width)
    return joined([t.binary(SHIFTS[match[1]], a, by) for a in split(args[0], width)])


def interleaved(match, args):
    """Takes lanes of the upper or the lower halves in turn; the second operand is below the first."""
    first, second = (split(arg, int(match[2])) for arg in args)
    half = len(first) // 2
    chosen = range(half, 2 * half) if match[1] == "HI" else range(half)
    return joined([lane for at in chosen for lane in (second[at], first[at])])


def every_other(match, args):
    """Takes odd or even lanes: of the second operand below those of the first."""
    start = 1 if match[1] == "Odd" else 0
    first, second = (split(arg, int(match[2]))[start::2] for arg in args)
    return joined(second + first)


def narrowed(match, args):
    """Narrows lanes, of the second operand below those of the first."""
    is_saturating, wide, kind, width, to = match[1] == "Q", int(match[2]), match[3], int(match[4]), match[5]
    lanes = [lane for arg in reversed(args) for lane in split(arg, wide)]
    if not is_saturating:
        return joined([t.extract(lane, 0, width) for lane in lanes])
    return joined([saturated(extended(lane, kind, wide + 1), to, width) for lane in lanes])


def widened_product(match, args):
    width, kind = int(match[1]), match[2]
    return joined([wide("bvmul", a, b, kind, width) for a, b in zip(*(split(arg, width) for arg in args))])


def reversed_parts(match, args):
    """Reverses the order of parts in each lane."""
    part, lane = int(match[1]), int(match[2])
    return joined([joined(split(whole, part)[::-1]) for whole in split(args[0], lane)])


def permuted(match, args):
    """Takes the bytes that the second operand numbers."""
    source, numbers = (split(arg, 8) for arg in args)
    def byte(index):
        value = source[0]
        for at, candidate in enumerate(source[1:], 1):
            is_it = t.eq(t.binary("bvand", index, t.const(len(source) - 1, 8)), t.const(at, 8))
            value = t.ite(is_it, candidate, value)
        return value
    return joined([byte(index) for index in numbers])


def slice_of_two(match, args):
    """Returns 16 bytes of two vectors, from a byte on."""
    whole = t.concat(args[0], args[1])
    return t.extract(whole, 8 * args[2].value, 128)


def with_low(match, args):
    width = int(match[1])
    return t.concat(t.extract(args[0], width, 128 - width), args[1])


def without_high(match, args):
    width = 128 - int(match[1])
    return t.zext(t.extract(args[0], 0, width), 128)


def highest_bits(match, args):
    return joined([t.extract(lane, 7, 1) for lane in split(args[0], 8)])


PATTERNS = [(re.compile(pattern), function) for pattern, function in (
    (r"(Add|Sub|Mul|MulHi|Avg|Min|Max|CmpEQ|CmpGT|QAdd|QSub|QDMulHi|QRDMulHi|Sh)(8|16|32|64)([SU]?)x(\d+)", two),
    (r"(Abs|Cnt|Clz|Cls)(8|16|32|64)x(\d+)", one),
    (r"(ShlN|ShrN|SarN)(8|16|32|64)x(\d+)", shift_all),
    (r"Interleave(HI|LO)(8|16|32|64)x(\d+)", interleaved),
    (r"Cat(Odd|Even)Lanes(8|16|32)x(\d+)", every_other),
    (r"(Q?)Narrow(?:Un|Bin)(16|32|64)([SU]?)to(8|16|32)([SU]?)x(\d+)", narrowed),
    (r"Mull(8|16|32)([SU])x(\d+)", widened_product),
    (r"Reverse(1|8|16|32)sIn(8|16|32|64)_x(\d+)", reversed_parts),
    (r"Perm8x(8|16)", permuted),
    (r"SliceV128", slice_of_two),
    (r"SetV128lo(32|64)", with_low),
    (r"ZeroHI(64|96|112|120)ofV128", without_high),
    (r"GetMSBs8x(8|16)", highest_bits),
)]


def result(name, args):
    """Returns the result of an operation; `None` if the name is not known."""
    for pattern, function in PATTERNS:
        match = pattern.fullmatch(name)
        if match:
            return function(match, args)
    return None
