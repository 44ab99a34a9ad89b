"""One function per command, from objects to objects.

The command line and the action import them from their modules. Nothing here parses arguments, prints, or chooses an
exit code other than the one in its result.
"""
