"""Prove by execution which tests a change fixes."""
