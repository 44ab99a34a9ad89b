"""The command line is tested with the running room's suite and server."""

from tests.running.conftest import own_suite, running_server, server, suite

__all__ = ["own_suite", "running_server", "server", "suite"]
