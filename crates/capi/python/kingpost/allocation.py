"""Tables of allocations, and allocation problems in `.ra` text."""

import json
from pathlib import Path

from ._library import text_arguments
from .compilation import Config, allocators as all_allocators


def _source(source):
    """Returns name and text of a source: a path to a file, or a text."""
    if isinstance(source, Path) or "\n" not in source and Path(source).is_file():
        return str(source), Path(source).read_text()
    return "", source


def allocate(source, allocators=None, target="host", **settings):
    """Allocates the registers of a source with several allocators, and returns a table: a list of dictionaries, one
    for each function and allocator, which `pandas.DataFrame` reads.

    `source` is a path or a text, in CLIF or with problems in `.ra` form. `allocators` has names, and functions that
    take a `Problem` and return an `Answer`; by default it has all names. The checker verifies each allocation.
    """
    file, text = _source(source)
    rows = []
    for allocator in all_allocators() if allocators is None else allocators:
        config = Config(target, allocator, regalloc_checker=True, **settings)
        name = allocator if isinstance(allocator, str) else getattr(allocator, "__name__", type(allocator).__name__)
        for row in json.loads(config.run("kp_allocation_table", *text_arguments(text))):
            rows.append({**row, "file": file, "allocator": name})
    return rows


def solve(source, allocator=None, target="host"):
    """Solves problems in `.ra` form and returns them with their answers as text."""
    return Config(target, allocator).run("kp_allocate_text", *text_arguments(_source(source)[1]))


def check(source, target="host"):
    """Checks the allocations of a `.ra` text, and returns the errors, one text each."""
    return Config(target).run("kp_check_text", *text_arguments(_source(source)[1]), None).splitlines()
