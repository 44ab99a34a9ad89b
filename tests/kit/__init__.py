"""What the tests of several rooms build on: problems and suites, git repositories, HTTP servers."""
