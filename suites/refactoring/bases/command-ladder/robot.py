"""A robot on a grid that takes commands."""


def run(commands):
    """Return where the robot ends (x, y, direction) and what it carries."""
    x = 0
    y = 0
    direction = "N"
    carried = []
    for command in commands:
        if command == "left":
            if direction == "N":
                direction = "W"
            elif direction == "W":
                direction = "S"
            elif direction == "S":
                direction = "E"
            else:
                direction = "N"
        elif command == "right":
            if direction == "N":
                direction = "E"
            elif direction == "E":
                direction = "S"
            elif direction == "S":
                direction = "W"
            else:
                direction = "N"
        elif command == "forward":
            if direction == "N":
                y = y + 1
            elif direction == "S":
                y = y - 1
            elif direction == "E":
                x = x + 1
            else:
                x = x - 1
        elif command == "back":
            if direction == "N":
                y = y - 1
            elif direction == "S":
                y = y + 1
            elif direction == "E":
                x = x - 1
            else:
                x = x + 1
        elif command.startswith("take "):
            if len(carried) < 2:
                carried.append(command[5:])
        elif command == "drop":
            if len(carried) > 0:
                carried.pop()
        else:
            raise ValueError(command)
    return (x, y, direction), carried
