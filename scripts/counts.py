#!/usr/bin/env python3
"""Counts the code of Ralph: `scripts/counts.py [--list] [FOLDER]` prints one line for each figure.

`--list` adds the lines that import upward and the type names that more than two files have.

Lines are those of `crates/*/src` with comments and without tests. A test is a file `tests.rs` or
`testing.rs`, a file below a folder `tests`, a file that another one includes below `#[cfg(test)]`, and
what stands below `#[cfg(test)]` at the end of a file.
"""

import argparse
import collections
import pathlib
import re
import statistics

ARGUMENTS = argparse.ArgumentParser(description="Counts the code of Ralph.")
ARGUMENTS.add_argument("--list", action="store_true", help="print the upward imports and the shared type names too")
ARGUMENTS.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
ASKED = ARGUMENTS.parse_args()
ROOT = ASKED.folder
CORE = "ralph-core"
# The folders of the core, from the bottom to the top.
LAYERS = [
    "text", "shell", "protocol", "state", "transcript", "evidence", "tasks", "guard", "stop", "modes",
    "project", "views",
]
IDIOMS = {"Args", "Command"}
# An indented `type` belongs to a trait, which names it.
TYPE = re.compile(r"^(?:\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union)|(?:pub(?:\([^)]*\))? )?type) (\w+)", re.M)


def without_tests(path, text):
    for found in re.finditer(r"(?m)^#\[cfg\(test\)\]\n((?:#\[[^\n]*\n)*)(?:pub(?:\([^)]*\))? )?mod (\w+)(;| \{)", text):
        if found[3] == "{" or found[3] == " {":
            return text[: found.start()]
    return text


def sources():
    """Every product file with its text without tests."""
    found, tests = {}, set()
    for crate in sorted((ROOT / "crates").iterdir()):
        for path in sorted((crate / "src").rglob("*.rs")):
            found[path] = path.read_text()
    for path, text in found.items():
        folder = path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") else path.with_suffix("")
        for module in re.findall(r"(?m)^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:pub(?:\([^)]*\))? )?mod (\w+);", text):
            tests |= {folder / f"{module}.rs", folder / module / "mod.rs"}
    def is_test(path):
        inside = any(path.is_relative_to(test.with_suffix("")) for test in tests)
        return path in tests or inside or path.name == "tests.rs"
    return {path: without_tests(path, text) for path, text in found.items() if not is_test(path)}


def functions(text):
    """Lengths of the functions, from `fn` to the brace that closes at the same depth."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        start = re.match(r"( *)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn \w+", line)
        if not start:
            continue
        for end in range(number, len(lines)):
            if lines[end].rstrip() == start[1] + "}":
                yield end - number + 1
                break
            if end == number and line.rstrip().endswith("}") or lines[end].rstrip().endswith(";") and end - number < 8 and not re.search(r"\{", "".join(lines[number : end + 1])):
                yield end - number + 1
                break


def upward(files):
    """Imports of a folder of the core from a folder above it."""
    rank = {name: number for number, name in enumerate(LAYERS)}
    for path, text in files.items():
        parts = path.relative_to(ROOT).parts
        if parts[1] != CORE:
            continue
        own = parts[3].removesuffix(".rs")
        for number, line in enumerate(text.splitlines(), 1):
            for used in re.findall(r"\bcrate::(\w+)", line):
                if own in rank and rank.get(used, -1) > rank[own]:
                    yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def flags(files):
    """The long options that `--help` shows: different names, and places where one is declared."""
    names = []
    for path, text in files.items():
        if "ralph/src/" not in str(path):
            continue
        for found in re.finditer(r"#\[arg\(([^\]]*?)\)\]\s*(?:pub(?:\([^)]*\))? )?(\w+)\s*:", text, re.S):
            attributes, field = found.groups()
            if not re.search(r"\blong\b", attributes) or "hide = true" in attributes:
                continue
            named = re.search(r'long = "([^"]+)"', attributes)
            names.append(named[1] if named else field.replace("_", "-"))
    return names


def main():
    files = sources()
    lengths = sorted(length for text in files.values() for length in functions(text))
    sizes = [text.count("\n") for text in files.values()]
    modes = 0
    for path, text in files.items():
        own = "modes" in path.parts or str(path).endswith(("modes.rs", "state/mode.rs"))
        if not own:
            modes += len(re.findall(r"\bMode(?:State)?::(?:Loop|Plain|Ralplan|Session|Orchestration|Refine)\b", text))
    places = collections.defaultdict(set)
    for path, text in files.items():
        for name in TYPE.findall(text):
            places[name].add(path)
    shared = sorted(name for name, where in places.items() if len(where) > 2 and name not in IDIOMS)
    up = list(upward(files))
    words = sum(len(path.read_text().split()) for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts)
    declared = flags(files)
    print(f"lines of product            {sum(sizes)}")
    print(f"files                       {len(files)}")
    print(f"median, longest function    {statistics.median(lengths):.0f}, {lengths[-1]}")
    print(f"`Mode::` outside of modes   {modes}")
    print(f"upward imports              {len(up)}")
    print(f"type names in three files   {len(shared)}")
    print(f"flags, places of them       {len(set(declared))}, {len(declared)}")
    print(f"words of docs/              {words}")
    if ASKED.list:
        print(*up, *shared, sep="\n")


main()
