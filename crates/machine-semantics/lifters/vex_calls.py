"""Functions of VEX that compute flags: it keeps the last operation that set flags, and its operands.

They are written from `guest_amd64_helpers.c` and `guest_arm64_helpers.c` of Valgrind. Operations have the numbers of
`guest_amd64_defs.h` and `guest_arm64_defs.h`.
"""

import terms as t
from lifted import NoMeaning

# Bits of the flags in a word, in the order in which the meanings number the flags.
C, P, Z, S, O = X64_BITS = (0, 2, 6, 7, 11)
FLAGS = {"x86_64": X64_BITS, "aarch64": (31, 30, 29, 28)}

X64_KINDS = "ADD SUB ADC SBB LOGIC INC DEC SHL SHR ROL ROR UMUL SMUL".split()
# Operations with results of 32 and 64 bits only.
X64_WIDE_KINDS = "ANDN BLSI BLSMSK BLSR".split()
A64_KINDS = "ADD SUB ADC SBC LOGIC".split()


def word(flags, width=64):
    """Returns a word of flags, by the numbers of their bits."""
    value = t.const(0, width)
    for bit, flag in flags.items():
        value = t.binary("bvor", value, t.ite(flag, t.const(1 << bit, width), t.const(0, width)))
    return value


def cases(value):
    """Returns the constants that a term may be, each with its condition."""
    if value.op == "const":
        return [(t.TRUE, value.value)]
    if value.op == "ite":
        condition, then, otherwise = value.args
        return [(t.both(condition, when), number) for when, number in cases(then)] + [
            (t.both(t.no(condition), when), number) for when, number in cases(otherwise)]
    if value.op == "bvor":
        first, second = map(cases, value.args)
        return [(t.both(a, b), x | y) for a, x in first for b, y in second]
    raise NoMeaning(f"flags of an operation that is not known: {value.op}")


def by_case(value, function):
    """Returns what a function of a constant returns for each constant that `value` may be."""
    result = None
    for condition, number in cases(value):
        if condition is not t.FALSE:
            part = function(number)
            result = part if result is None else t.ite(condition, part, result)
    return result


def top(value):
    return t.bit(value, value.width - 1)


def parity(value):
    """Returns whether the low byte has an even number of bits that are set."""
    return t.no(t.bit(t.population(t.extract(value, 0, 8), 8), 0))


def is_zero(value):
    return t.eq(value, t.const(0, value.width))


def differ(a, b):
    return t.no(t.eq(a, b))


def xor(a, b):
    return t.binary("bvxor", a, b)


def below(a, b):
    return t.binary("bvult", a, b)


def at_most(a, b):
    return t.binary("bvule", a, b)


def with_result(result, carry, overflow):
    """Returns the flags of an operation of x86-64."""
    return word({C: carry, P: parity(result), Z: is_zero(result), S: top(result), O: overflow})


def fits_sum(a, b, result):
    return top(t.binary("bvand", xor(result, a), xor(result, b)))


def fits_difference(a, b, result):
    return top(t.binary("bvand", xor(a, b), xor(a, result)))


def x64_sum(a, b, n, size):
    result = t.binary("bvadd", a, b)
    return with_result(result, below(result, a), fits_sum(a, b, result))


def x64_difference(a, b, n, size):
    result = t.binary("bvsub", a, b)
    return with_result(result, below(a, b), fits_difference(a, b, result))


def x64_sum_with_carry(a, b, n, size):
    carry = t.binary("bvand", t.extract(n, 0, size), t.const(1, size))
    b = xor(b, carry)
    result = t.binary("bvadd", t.binary("bvadd", a, b), carry)
    return with_result(result, t.ite(t.bit(n, 0), at_most(result, a), below(result, a)), fits_sum(a, b, result))


def x64_difference_with_borrow(a, b, n, size):
    borrow = t.binary("bvand", t.extract(n, 0, size), t.const(1, size))
    b = xor(b, borrow)
    result = t.binary("bvsub", t.binary("bvsub", a, b), borrow)
    return with_result(result, t.ite(t.bit(n, 0), at_most(a, b), below(a, b)), fits_difference(a, b, result))


def x64_increment(a, b, n, size):
    return with_result(a, t.bit(n, 0), t.eq(a, t.const(1 << (size - 1), size)))


def x64_decrement(a, b, n, size):
    return with_result(a, t.bit(n, 0), t.eq(a, t.const((1 << (size - 1)) - 1, size)))


def x64_rotation(carry, other):
    """Returns the function of a rotation: carry and overflow change, and come from bits of the result."""
    def flags(a, b, n, size):
        kept = t.binary("bvand", n, t.const(~(1 << C | 1 << O), 64))
        changed = word({C: t.bit(a, carry(size)), O: differ(t.bit(a, size - 1), t.bit(a, other(size)))})
        return t.binary("bvor", kept, changed)
    return flags


def x64_product(extend):
    def flags(a, b, n, size):
        wide = t.binary("bvmul", extend(a, 2 * size), extend(b, 2 * size))
        low, high = t.extract(wide, 0, size), t.extract(wide, size, size)
        signs = t.const(0, size) if extend is t.zext else t.binary("bvashr", low, t.const(size - 1, size))
        return with_result(low, differ(high, signs), differ(high, signs))
    return flags


def x64_bits(carry):
    """Returns the function of an operation of BMI, which clears the parity and the overflow."""
    def flags(a, b, n, size):
        return word({C: carry(b), Z: is_zero(a), S: top(a)})
    return flags


X64 = {
    "ADD": x64_sum,
    "SUB": x64_difference,
    "ADC": x64_sum_with_carry,
    "SBB": x64_difference_with_borrow,
    "LOGIC": lambda a, b, n, size: with_result(a, t.FALSE, t.FALSE),
    "INC": x64_increment,
    "DEC": x64_decrement,
    "SHL": lambda a, b, n, size: with_result(a, top(b), differ(top(a), top(b))),
    "SHR": lambda a, b, n, size: with_result(a, t.bit(b, 0), differ(top(a), top(b))),
    "ROL": x64_rotation(lambda size: 0, lambda size: 0),
    "ROR": x64_rotation(lambda size: size - 1, lambda size: size - 2),
    "UMUL": x64_product(t.zext),
    "SMUL": x64_product(t.sext),
    "ANDN": x64_bits(lambda b: t.FALSE),
    "BLSI": x64_bits(lambda b: t.no(is_zero(b))),
    "BLSMSK": x64_bits(is_zero),
    "BLSR": x64_bits(is_zero),
}


def x64_flags(op, a, b, n):
    """Returns the word of flags after an operation (`amd64g_calculate_rflags_all`)."""
    def flags(number):
        if number == 0:
            return t.binary("bvand", a, t.const(sum(1 << bit for bit in X64_BITS), 64))
        kind, size = (number - 1) // 4, 8 << (number - 1) % 4
        if kind < len(X64_KINDS):
            name = X64_KINDS[kind]
        else:
            kind, size = (number - 53) // 2, 32 << (number - 53) % 2
            if kind >= len(X64_WIDE_KINDS):
                raise NoMeaning(f"flags of operation {number}")
            name = X64_WIDE_KINDS[kind]
        return X64[name](t.extract(a, 0, size), t.extract(b, 0, size), n, size)
    return by_case(op, flags)


def x64_holds(condition, flags):
    """Returns whether a condition of x86-64 holds."""
    carry, even, zero, sign, overflow = (t.bit(flags, bit) for bit in X64_BITS)
    less = differ(sign, overflow)
    plain = [overflow, carry, zero, t.either(carry, zero), sign, even, less, t.either(less, zero)]
    holds = plain[condition // 2]
    return t.no(holds) if condition % 2 else holds


def a64_word(result, carry, overflow):
    return word({31: top(result), 30: is_zero(result), 29: carry, 28: overflow})


def a64_flags(op, a, b, n):
    """Returns the word of flags after an operation."""
    def flags(number):
        if number == 0:
            return t.binary("bvand", a, t.const(0xF0000000, 64))
        kind, size = A64_KINDS[(number - 1) // 2], 32 << (number - 1) % 2
        x, y, carry = t.extract(a, 0, size), t.extract(b, 0, size), t.bit(n, 0)
        one = t.number(carry, size)
        if kind == "LOGIC":
            return a64_word(x, t.FALSE, t.FALSE)
        if kind == "ADD":
            result = t.binary("bvadd", x, y)
            return a64_word(result, below(result, x), fits_sum(x, y, result))
        if kind == "SUB":
            result = t.binary("bvsub", x, y)
            return a64_word(result, at_most(y, x), fits_difference(x, y, result))
        if kind == "ADC":
            result = t.binary("bvadd", t.binary("bvadd", x, y), one)
            return a64_word(result, t.ite(carry, at_most(result, x), below(result, x)), fits_sum(x, y, result))
        result = t.binary("bvsub", t.binary("bvsub", x, y), xor(one, t.const(1, size)))
        return a64_word(result, t.ite(carry, at_most(y, x), below(y, x)), fits_difference(x, y, result))
    return by_case(op, flags)


def a64_holds(condition, flags):
    """Returns whether a condition of AArch64 holds."""
    negative, zero, carry, overflow = (t.bit(flags, bit) for bit in (31, 30, 29, 28))
    at_least = t.eq(negative, overflow)
    higher = t.both(carry, t.no(zero))
    plain = [zero, carry, negative, overflow, higher, at_least, t.both(at_least, t.no(zero)), t.TRUE]
    holds = plain[condition // 2]
    return t.no(holds) if condition % 2 and condition != 15 else holds


def a64_condition(condition_and_op, *operands):
    """Returns whether a condition holds; its number is above the four bits of the operation."""
    def holds(number):
        flags = a64_flags(t.const(number & 15, 64), *operands)
        return t.number(a64_holds(number >> 4, flags), 64)
    return by_case(condition_and_op, holds)


def a64_flag(bit):
    return lambda *args: t.number(t.bit(a64_flags(*args), bit), 64)


ALL_FLAGS = {"x86_64": x64_flags, "aarch64": a64_flags}

CALLS = {
    "amd64g_calculate_condition": lambda condition, *args: t.number(x64_holds(condition.value, x64_flags(*args)), 64),
    "amd64g_calculate_rflags_c": lambda *args: t.number(t.bit(x64_flags(*args), C), 64),
    "amd64g_calculate_rflags_all": x64_flags,
    "arm64g_calculate_condition": a64_condition,
    "arm64g_calculate_flag_n": a64_flag(31),
    "arm64g_calculate_flag_z": a64_flag(30),
    "arm64g_calculate_flag_c": a64_flag(29),
    "arm64g_calculate_flag_v": a64_flag(28),
}


def call(name, args):
    """Returns the result of a function."""
    if name not in CALLS:
        raise NoMeaning(f"calls {name}")
    return CALLS[name](*args)
