"""Command line: ``python -m tests.bpf`` builds the program and writes the module that carries it."""

from __future__ import annotations

import sys

from tests.bpf.build import CARRIER, ROOT, build
from tests.bpf.compiler import WrongCompiler


def main() -> int:
    try:
        text = build()
    except WrongCompiler as error:
        print(error, file=sys.stderr)
        return 1
    before = CARRIER.read_text(encoding="utf-8") if CARRIER.exists() else ""
    CARRIER.write_text(text, encoding="utf-8")
    print(f"{CARRIER.relative_to(ROOT)} {'is as it was' if text == before else 'was written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
