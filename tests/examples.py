"""How many examples hypothesis draws: a test asks for a number, and a profile multiplies all of them."""

from hypothesis import settings

USUAL = 60  # of a test that asks for no number
LONG = 50 * USUAL  # the same, by HYPOTHESIS_PROFILE=long


def examples(number, **others):
    """Settings of a test that draws so many examples where others draw `USUAL`."""
    return settings(max_examples=number * settings.default.max_examples // USUAL, **others)
