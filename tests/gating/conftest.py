"""Hypothesis without deadlines: how fast a shared machine happens to be is not what these tests are about."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
