"""Prove by execution what a change's tests show."""
