"""Compile for arm64 Linux on x86-64: `python -m tools.cross_code FOLDER PART...`, for a MERINO_HOME there.

The parts run here first, which shows what they call with which arguments; LLVM then makes the same for the other
processor. numba must not be loaded before that, so all that they need must be compiled here already.
"""

import os
import sys
from pathlib import Path
from typing import Any

from llvmlite import binding

from merino.core.compiled import cache, code_files, jit
from merino.engine.search.warmup import parts

TRIPLE, PROCESSOR = "aarch64-unknown-linux-gnu", "generic"


def main() -> None:
    """Write the code; raises RuntimeError where numba is loaded too early."""
    into, *names = sys.argv[1:]
    asked: list[tuple[Any, Any, Any]] = []
    usual = jit.CompiledEntry._version

    def version(entry: Any, kinds: Any, given: Any) -> Any:
        asked.append((entry, kinds, given))
        return usual(entry, kinds, given)

    setattr(jit.CompiledEntry, "_version", version)  # noqa: B010 (which mypy allows)
    for name in names:
        parts()[name]()
    if "numba" in sys.modules:
        raise RuntimeError(f"run `merino warmup {' '.join(names)}` first")
    os.environ |= {"NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": ""}
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.get_process_triple = lambda: TRIPLE
    folder = Path(into) / "cache" / cache.made_for(PROCESSOR, "")
    folder.mkdir(parents=True, exist_ok=True)
    for entry, kinds, given in asked:
        code_files.write_code(folder / entry.file(kinds).name, jit._compiler().compile_entry(entry, kinds, given))


if __name__ == "__main__":
    main()
