"""A client of GitHub, for mining and the action."""

from codegate.forge.client import GitHub
from codegate.forge.transport import DEFAULT_API, AnswerTooLarge, Forbidden, GitHubError, Gone, NotFound

__all__ = ["DEFAULT_API", "AnswerTooLarge", "Forbidden", "GitHub", "GitHubError", "Gone", "NotFound"]
