"""Read orders from text."""


def total(text):
    """Return what an order costs, in cents; a ValueError names the line that cannot be read."""
    lines = text.split("\n")
    cents = 0
    discount = 0
    number = 0
    for line in lines:
        number = number + 1
        line = line.strip()
        if line == "":
            continue
        if line[0] == "#":
            continue
        if line.startswith("discount "):
            rest = line[9:].strip()
            if not rest.endswith("%"):
                raise ValueError("line " + str(number) + ": a discount is a percentage")
            if not rest[:-1].isdigit():
                raise ValueError("line " + str(number) + ": a discount is a percentage")
            if int(rest[:-1]) > 100:
                raise ValueError("line " + str(number) + ": a discount is a percentage")
            if int(rest[:-1]) > discount:
                discount = int(rest[:-1])
            continue
        parts = line.split(" x ")
        if len(parts) != 2:
            raise ValueError("line " + str(number) + ": neither item nor discount")
        if not parts[0].isdigit():
            raise ValueError("line " + str(number) + ": an amount is a number")
        words = parts[1].split()
        if len(words) < 2:
            raise ValueError("line " + str(number) + ": a price is missing")
        price = words[-1]
        pieces = price.split(".")
        if len(pieces) != 2 or not pieces[0].isdigit() or not pieces[1].isdigit() or len(pieces[1]) != 2:
            raise ValueError("line " + str(number) + ": a price has two decimal places")
        cents = cents + int(parts[0]) * (int(pieces[0]) * 100 + int(pieces[1]))
    return cents - cents * discount // 100
