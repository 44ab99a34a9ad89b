"""A GitHub on this machine: it enforces what the real one does, and fails as it does."""

from tests.kit.github.server import FakeGitHub, Fault, Listing, Reply, Request, Token, fake_github, rate_limited, route

__all__ = ["FakeGitHub", "Fault", "Listing", "Reply", "Request", "Token", "fake_github", "rate_limited", "route"]
