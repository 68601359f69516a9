"""Operations on the bits of floats, computed exactly and then rounded to nearest, ties to even.

A float is a fraction, an infinity or `None` for a NaN, with its sign beside it, because zeros have signs. A NaN has one pattern
of bits.
"""

import math
from fractions import Fraction

INFINITY = math.inf
# Bits of the exponent, and of the digits.
FORMATS = {16: (5, 10), 32: (8, 23), 64: (11, 52)}


def decoded(bits, width):
    """Returns the sign and the magnitude of a float."""
    exponents, digits = FORMATS[width]
    sign, exponent = bits >> (width - 1), bits >> digits & ((1 << exponents) - 1)
    fraction = bits & ((1 << digits) - 1)
    least = 2 - (1 << (exponents - 1)) - digits
    if exponent == (1 << exponents) - 1:
        return sign, None if fraction else INFINITY
    if exponent == 0:
        return sign, fraction * Fraction(2) ** least
    return sign, (fraction | 1 << digits) * Fraction(2) ** (least + exponent - 1)


def encoded(sign, magnitude, width):
    """Returns the bits of the float that is nearest to a magnitude."""
    exponents, digits = FORMATS[width]
    infinity = ((1 << exponents) - 1) << digits
    if magnitude is None:
        return infinity | 1 << (digits - 1)
    bits = infinity if magnitude == INFINITY else min(infinity, rounded(magnitude, exponents, digits))
    return sign << (width - 1) | bits


def rounded(magnitude, exponents, digits):
    """Returns exponent and digits of a fraction. A carry out of the digits increases the exponent."""
    least = 2 - (1 << (exponents - 1)) - digits
    # The weight of the lowest digit.
    power = least
    if magnitude:
        length = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        top = length if Fraction(2) ** length <= magnitude else length - 1
        power = max(least, top - digits)
    number = round(magnitude / Fraction(2) ** power)
    return number + (power - least << digits)


def signed(value):
    """Returns a decoded float as a signed number."""
    sign, magnitude = value
    return -magnitude if sign else magnitude


def of_number(number, zero_sign, width):
    """Returns the bits of a number. A zero has `zero_sign`."""
    sign = zero_sign if number == 0 else int(number < 0)
    return encoded(sign, abs(number), width)


def add(a, b, width):
    if None in (a[1], b[1]) or (a[1] == b[1] == INFINITY and a[0] != b[0]):
        return encoded(0, None, width)
    return of_number(signed(a) + signed(b), a[0] & b[0], width)


def product(a, b):
    """Returns a decoded product that is not rounded."""
    sign = a[0] ^ b[0]
    if None in (a[1], b[1]) or {a[1], b[1]} == {0, INFINITY}:
        return sign, None
    return sign, INFINITY if INFINITY in (a[1], b[1]) else a[1] * b[1]


def quotient(a, b, width):
    sign, nan = a[0] ^ b[0], encoded(0, None, width)
    if None in (a[1], b[1]) or a[1] == b[1] and a[1] in (0, INFINITY):
        return nan
    if a[1] == INFINITY or b[1] == 0:
        return encoded(sign, INFINITY, width)
    return encoded(sign, 0 if b[1] == INFINITY else a[1] / b[1], width)


def root(a, width):
    sign, magnitude = a
    if magnitude in (None, 0, INFINITY) or sign:
        return encoded(sign, magnitude if magnitude == 0 or not sign else None, width)
    # Enough bits, and one that tells an exact root from a larger one.
    scale = Fraction(4) ** 1200
    number = magnitude * scale
    whole = math.isqrt(number.numerator // number.denominator)
    is_exact = whole * whole == number
    return encoded(0, (whole + (0 if is_exact else Fraction(1, 2))) / Fraction(2) ** 1200, width)


WHOLE = {"Floor": math.floor, "Ceil": math.ceil, "Trunc": math.trunc, "Nearest": round,
         "Away": lambda number: math.copysign(1, number) * math.floor(abs(number) + Fraction(1, 2))}


def whole(name, a, width):
    if a[1] in (None, INFINITY):
        return encoded(*a, width)
    return of_number(Fraction(WHOLE[name](signed(a))), a[0], width)


def apply(function, args):
    """Returns the bits of an operation; its name has the widths of the operand and of the result."""
    _, name, source, target = function.split(".")
    source, target = int(source), int(target)
    if name.startswith("From"):
        integer = args[0] - (1 << source) if name == "FromSigned" and args[0] >> (source - 1) else args[0]
        return of_number(Fraction(integer), 0, target)
    values = [decoded(arg, source) for arg in args]
    if name == "Sub":
        values[1] = 1 - values[1][0], values[1][1]
    if name in ("Add", "Sub"):
        return add(*values, target)
    if name == "Fma":
        return add(product(*values[:2]), values[2], target)
    if name == "Mul":
        return encoded(*product(*values), target)
    if name == "Convert":
        return encoded(*values[0], target)
    if name.startswith("To"):
        return 0 if values[0][1] in (None, INFINITY) else math.trunc(signed(values[0])) % (1 << target)
    functions = {"Div": quotient, "Sqrt": root}
    return functions[name](*values, target) if name in functions else whole(name, *values, target)


def relation(name, args, width):
    a, b = (decoded(arg, width) for arg in args)
    if None in (a[1], b[1]):
        return False
    a, b = signed(a), signed(b)
    return {"fp.lt": a < b, "fp.leq": a <= b, "fp.eq": a == b}[name]
