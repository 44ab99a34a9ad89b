"""Read queries."""


class QuerySyntaxError(ValueError):
    """The query cannot be read; the arguments are a message and the place in the text."""


def parse(text: str) -> tuple:
    """Return the query as nested tuples."""
    raise NotImplementedError
