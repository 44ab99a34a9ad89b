"""What ``init`` finds in the repository that it is called in."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from codegate.errors import CodegateError
from codegate.languages import path_language
from codegate.mining import find_slug
from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.languages import known_languages
from codegate.mining.options import running_python
from codegate.suite import GitError, git
from codegate.suite.git import read_commit
from codegate.wording import count_of


@dataclass(frozen=True)
class Project:
    """A repository as far as mining is concerned.

    Attributes:
        commits: of the current branch; 0 before the first.
        shallow: the clone lacks the older ones.
        language: of most of its files; None: none that is mined.
        runner: what runs its tests; None: unknown.
        slug: OWNER/NAME on GitHub; None: its origin is elsewhere.
    """

    commits: int = 0
    shallow: bool = False
    language: str | None = None
    runner: str | None = None
    slug: str | None = None

    def words(self) -> str:
        """Return what was found as one line."""
        if not self.commits:
            return "a git repository without a commit"
        tests = f"tests run by {self.runner}" if self.runner else "no test runner that is known here"
        parts = [f"{self.language} ({tests})" if self.language else "no language that is mined without a command"]
        parts.append(f"{count_of(self.commits, 'commit')}")
        return ", ".join([*parts, *([f"{self.slug} on GitHub"] if self.slug else [])])


def look_at(repository: Path) -> Project | None:
    """Return what is known about the repository; None where the folder is not within one."""
    try:
        shallow = git(repository, "rev-parse", "--is-shallow-repository").strip() == b"true"
    except GitError:
        return None
    slug = find_slug(repository)
    try:
        head = git(repository, "rev-parse", "--verify", "HEAD").decode().strip()
        commits = int(git(repository, "rev-list", "--count", head))
    except CodegateError:
        return Project(shallow=shallow, slug=slug)
    try:
        tree = read_commit(repository, head)
    except CodegateError:  # too large to be read, or a clone without its files
        return Project(commits, shallow, slug=slug)
    named = Counter(found.name for path in tree if (found := path_language(path)) is not None and found.environments)
    language = next((name for name, _ in named.most_common(1)), None)
    runner = None
    if language is not None:
        settings = known_languages(EnvironmentResolver(running_python()))[language].runner(tree)
        runner = settings.runner if settings is not None else None
    return Project(commits, shallow, language, runner, slug)
