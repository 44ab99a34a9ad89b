"""One function per command, objects in and objects out: import it from its module.

The command line and the action both call these. Nothing here parses arguments, prints, or chooses an exit code other
than the one in its result.
"""
