"""One thin file per command: parse, call one function, map the result to an exit code."""
