"""What every test run needs."""

import pytest

from tests.talk import Talk


def pytest_configure(config: pytest.Config) -> None:
    """Repeat the filter of `engine.jit`: pytest puts its own filters in place of those it finds."""
    config.addinivalue_line("filterwarnings", "ignore:First-class function type feature is experimental")


@pytest.fixture
def talk() -> Talk:
    return Talk()
