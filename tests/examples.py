"""What properties are tried on: examples that repeat themselves, a third of them without ``--slow``."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_ALL = 100  # of a property that asks for no number


def use(share: float) -> None:
    """Try a share of the examples; said before the tests are imported."""
    settings.register_profile(
        "repeatable",
        derandomize=True,
        deadline=None,
        print_blob=True,
        max_examples=int(_ALL * share),
        suppress_health_check=[HealthCheck.too_slow],  # which a busy machine makes of any strategy
    )
    settings.load_profile("repeatable")


def examples(most: int) -> int:
    """Return how many examples to try of so many."""
    return most * settings.default.max_examples // _ALL
