"""A client of GitHub, for mining and the action."""

from codegate.forge.client import GitHub
from codegate.forge.transport import DEFAULT_API, Forbidden, GitHubError, Gone, NotFound, TooMuch

__all__ = ["DEFAULT_API", "Forbidden", "GitHub", "GitHubError", "Gone", "NotFound", "TooMuch"]
