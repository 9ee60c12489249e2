"""The arrays of settings and states without a count of who uses them, for the loop of the simulator."""

from engine.compiled.jit import kernel
from engine.compiled.memory import array_at
from tune.estimators import EstimatorSettings, State


@kernel
def _borrowed(array):
    """The same array without a count of those who use it: counting takes longer than a step of the simplest method.

    Only for what the caller of an entry keeps alive.
    """
    return array_at(array.ctypes.data, array.dtype, array.shape)


@kernel
def borrowed_settings(s):
    """The settings with such arrays."""
    return EstimatorSettings(
        s.method,
        s.pairs,
        s.tau,
        _borrowed(s.low),
        _borrowed(s.high),
        _borrowed(s.whole),
        _borrowed(s.c_end),
        _borrowed(s.r_end),
        _borrowed(s.sigma),
        _borrowed(s.sigma_0),
        _borrowed(s.bank),
    )


@kernel
def borrowed_state(s):
    """The state with such arrays."""
    return State(
        _borrowed(s.moments),
        _borrowed(s.mean),
        _borrowed(s.bias),
        _borrowed(s.spread),
        _borrowed(s.covariance),
        _borrowed(s.evidence),
    )
