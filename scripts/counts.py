#!/usr/bin/env python3
"""Counts the product: `scripts/counts.py [--ratchet | --write] [FOLDER]`.

Prints lines, lines without comments and blanks, and files, by folder. Product is every `.rs` below `crates/*/src`, what
it includes from there, and build scripts; left out are test files, files that another one includes below `#[cfg(test)]`, and the
modules of tests within a file, from brace to brace.

`--ratchet` compares the sums with `scripts/counts.txt`: a sum above it fails, and so does one that has fallen by more
than 300, until `--write` has lowered it there. A commit may raise one by at most 300 and says why in its message.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

ARGUMENTS = argparse.ArgumentParser(description="Counts the product.")
ARGUMENTS.add_argument("--ratchet", action="store_true", help="fail if a sum is above the one kept")
ARGUMENTS.add_argument("--write", action="store_true", help="keep the sums")
ARGUMENTS.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
ASKED = ARGUMENTS.parse_args()
ROOT = ASKED.folder
KEPT = ROOT / "scripts" / "counts.txt"
NAMES = ["lines", "code", "files"]
MOST = 300
# A module below `#[cfg(test)]`, in a file of its own or between braces at the same indentation.
IN_FILE = re.compile(r"(?m)^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:pub(?:\([^)]*\))? )?mod (\w+);")
WITHIN = re.compile(r"(?ms)^( *)#\[cfg\(test\)\]\n(?: *#\[[^\n]*\n)*\1(?:pub(?:\([^)]*\))? )?mod \w+ \{\n.*?^\1\}\n")


def product():
    """Every file of the product with its text."""
    texts, tests = {}, set()
    for crate in sorted((ROOT / "crates").iterdir()):
        for path in sorted((crate / "src").rglob("*")) + list(crate.glob("build.rs")):
            if path.suffix in (".rs", ".css", ".sb"):
                texts[path] = path.read_text()
    for path, text in texts.items():
        folder = path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") else path.with_suffix("")
        tests |= {folder / name for name in IN_FILE.findall(text)}
    for path, text in texts.items():
        if path.stem != "tests" and not any(path.with_suffix("").is_relative_to(test) for test in tests):
            yield path, WITHIN.sub("", text)


def counted():
    """Lines, lines of code and files, by crate and folder."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for path, text in product():
        crate, *inside = path.relative_to(ROOT / "crates").parts
        inside = [part for part in inside if part != "src"]
        lines = text.splitlines()
        code = [line for line in lines if line.strip() and not line.lstrip().startswith("//")]
        part = inside[0].removesuffix(".rs")
        for number, figure in enumerate([len(lines), len(code), 1]):
            sums[f"{crate}/{part}"][number] += figure
    return sums


def read(text):
    figures = dict(line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return [int(figures[name]) for name in NAMES]


def raised():
    """Commits that raised a kept figure by more than they may."""
    file = "scripts/counts.txt"
    log = subprocess.run(["git", "-C", ROOT, "log", "--format=%h", "--", file], capture_output=True, text=True)
    for commit in log.stdout.split():
        two = [subprocess.run(["git", "-C", ROOT, "show", f"{at}:{file}"], capture_output=True, text=True)
               for at in (f"{commit}^", commit)]
        if all(one.returncode == 0 for one in two):
            old, new = (read(one.stdout) for one in two)
            yield from (f"{commit} raised `{name}` from {old[at]} to {new[at]}; at most {MOST} at a time"
                        for at, name in enumerate(NAMES) if new[at] > old[at] + MOST)


def main():
    sums = counted()
    total = [sum(figures[at] for figures in sums.values()) for at in range(3)]
    print(f"{'':28}{'lines':>8}{'code':>8}{'files':>7}")
    for name, figures in sorted(sums.items()) + [("all", total)]:
        print(f"{name:28}{figures[0]:>8}{figures[1]:>8}{figures[2]:>7}")
    if ASKED.write:
        about = "# What the product may come to, by `scripts/counts.py`.\n"
        KEPT.write_text(about + "".join(f"{name} {figure}\n" for name, figure in zip(NAMES, total)))
    if ASKED.ratchet:
        wrong = list(raised())
        for name, now, kept in zip(NAMES, total, read(KEPT.read_text())):
            if now > kept:
                wrong.append(f"`{name}` is {now}, and {kept} at most: make it smaller, or raise it in {KEPT.name} and say why")
            elif now + MOST < kept:
                wrong.append(f"`{name}` fell to {now}: `scripts/counts.py --write` keeps it there")
        sys.exit("\n".join(wrong) or None)


main()
