"""Apply queries to tickets."""


def matches(query: tuple, ticket: dict) -> bool:
    """Return whether the ticket matches the query."""
    raise NotImplementedError
