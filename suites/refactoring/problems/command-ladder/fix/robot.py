"""A robot on a grid that takes commands."""

_CLOCKWISE = "NESW"
_AHEAD = {"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}
_TURNS = {"left": -1, "right": 1}
_MOVES = {"forward": 1, "back": -1}
_ROOM = 2


def run(commands):
    """Return where the robot ends (x, y, direction) and what it carries."""
    place, carried = (0, 0, "N"), []
    for command in commands:
        if command in _TURNS or command in _MOVES:
            place = _moved(*place, command)
        else:
            _handle(carried, command)
    return place, carried


def _moved(x, y, direction, command):
    if command in _TURNS:
        return x, y, _CLOCKWISE[(_CLOCKWISE.index(direction) + _TURNS[command]) % 4]
    right, up = _AHEAD[direction]
    return x + right * _MOVES[command], y + up * _MOVES[command], direction


def _handle(carried, command):
    if command == "drop":
        del carried[-1:]
    elif not command.startswith("take "):
        raise ValueError(command)
    elif len(carried) < _ROOM:
        carried.append(command.removeprefix("take "))
