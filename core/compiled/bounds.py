"""Bounds checks in compiled code, `make test-bounds`: errors name file, line and function.

numba checks every index where NUMBA_BOUNDSCHECK is set, and raises an IndexError that does not say where. Only then is
this module imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba.core import cgutils
from numba.core.lowering import Lower

_place = [""]  # the line that is being compiled


def name_lines() -> None:
    """Let every bounds check compiled from now on name its place."""
    compile_statement = Lower.lower_inst

    def lower_inst(self: Any, statement: Any) -> Any:
        before = _place[0]
        _place[0] = f"{Path(statement.loc.filename).name}:{statement.loc.line}, {self.func_ir.func_id.func_name}"
        try:
            return compile_statement(self, statement)
        finally:
            _place[0] = before

    Lower.lower_inst = lower_inst
    cgutils.do_boundscheck = _check


def _check(context: Any, builder: Any, index: Any, size: Any, axis: Any = None) -> None:
    """Raise IndexError unless 0 <= index < size; print both, since the message of compiled code is fixed."""
    is_wrong = builder.icmp_unsigned(">=", index, size)  # a negative index is a large one
    with cgutils.if_unlikely(builder, is_wrong):
        cgutils.printf(builder, f"{_place[0]}: index %ld is out of bounds for size %ld\n", index, size)
        context.call_conv.return_user_exc(builder, IndexError, (f"{_place[0]}: the index is out of bounds",))
