"""Pictures of live ranges: a column for each location, a row for each machine instruction."""

import json
from html import escape

from ._library import text_arguments
from .compilation import Config

_ROW, _COLUMN, _LEFT, _TOP = 14, 46, 360, 40


class LiveRanges:
    """Live ranges of the values of a function. A notebook shows the picture."""

    def __init__(self, function):
        solution = function["solutions"][0]
        self.function, self.allocator = function["name"], solution["allocator"]
        #: Names of registers and slots.
        self.locations = [name for name, _ in solution["columns"]]
        #: Text of the rows.
        self.rows = [row[3] for row in solution["rows"]]
        values = [name for name, _ in function["vregs"]]
        #: Tuples of value, location, and the first and the last half row, exclusive.
        self.ranges = [(values[value], self.locations[at], start, end) for value, at, start, end in solution["ranges"]]

    def svg(self):
        """Returns the picture as text."""
        names = sorted({value for value, *_ in self.ranges})
        colors = {name: f"hsl({index * 137.508 % 360:.0f} 60% 65%)" for index, name in enumerate(names)}
        width, height = _LEFT + _COLUMN * len(self.locations) + 10, _TOP + _ROW * len(self.rows) + 10
        size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        font = 'font-family="monospace" font-size="11"'
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>']
        parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
        parts.append(_text(4, 14, f"{self.function}, {self.allocator}"))
        for column, name in enumerate(self.locations):
            parts.append(_text(_LEFT + column * _COLUMN + 2, _TOP - 8, name))
        for row, text in enumerate(self.rows):
            parts.append(_text(4, _TOP + row * _ROW + 11, text[:52]))
        for value, location, start, end in self.ranges:
            x, y = _LEFT + self.locations.index(location) * _COLUMN, _TOP + start * _ROW / 2
            shape = f'x="{x}" y="{y}" width="{_COLUMN - 4}" height="{(end - start) * _ROW / 2}" rx="3"'
            title = escape(f"{value} in {location}")
            parts.append(f'<rect {shape} fill="{colors[value]}"><title>{title}</title></rect>')
            parts.append(_text(x + 3, y + 11, value))
        return "\n".join([*parts, "</svg>", ""])

    def _repr_svg_(self):
        return self.svg()


def _text(x, y, text):
    return f'<text x="{x}" y="{y}" xml:space="preserve">{escape(text)}</text>'


def live_ranges(text, allocator=None, target="host", **settings):
    """Returns the `LiveRanges` of each function of a text in CLIF."""
    config = Config(target, allocator, **settings)
    return [LiveRanges(function) for function in json.loads(config.run("kp_explain_text", *text_arguments(text)))]
