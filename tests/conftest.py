"""What every test run needs."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Repeat the filter of `engine.jit`: pytest puts its own filters in place of those it finds."""
    config.addinivalue_line("filterwarnings", "ignore:First-class function type feature is experimental")
