"""Apply queries to tickets."""


def matches(query: tuple, ticket: dict) -> bool:
    """Return whether the ticket matches the query."""
    kind, *parts = query
    if kind == "and":
        return all(matches(part, ticket) for part in parts)
    if kind == "or":
        return any(matches(part, ticket) for part in parts)
    if kind == "not":
        return not matches(parts[0], ticket)
    if kind == "word":
        return any(_has(ticket.get(name), parts[0]) for name in ("title", "text"))
    if kind == "field":
        return _has(ticket.get(parts[0]), parts[1])
    name, low, high = parts
    value = ticket.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return (low is None or low <= value) and (high is None or value <= high)


def _has(value: object, text: str) -> bool:
    wanted = text.casefold()
    if isinstance(value, list):
        return any(isinstance(entry, str) and entry.casefold() == wanted for entry in value)
    return isinstance(value, str) and wanted in value.casefold()
