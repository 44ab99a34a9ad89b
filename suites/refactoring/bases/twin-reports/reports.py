"""Reports of what people spent."""


def as_csv(entries):
    """Return the sums of each person as CSV."""
    sums = {}
    for entry in entries:
        name = entry["name"].strip().title()
        if name == "":
            name = "Unknown"
        if name not in sums:
            sums[name] = 0
        sums[name] = sums[name] + entry["cents"]
    names = list(sums.keys())
    names.sort(key=lambda name: (-sums[name], name))
    lines = ["name,amount"]
    for name in names:
        euros = sums[name] // 100
        cents = sums[name] % 100
        lines.append(name + "," + str(euros) + "." + str(cents).rjust(2, "0"))
    return "\n".join(lines) + "\n"


def as_markdown(entries):
    """Return the sums of each person as a table in Markdown."""
    sums = {}
    for entry in entries:
        name = entry["name"].strip().title()
        if name == "":
            name = "Unknown"
        if name not in sums:
            sums[name] = 0
        sums[name] = sums[name] + entry["cents"]
    names = list(sums.keys())
    names.sort(key=lambda name: (-sums[name], name))
    lines = ["| name | amount |", "|---|---|"]
    for name in names:
        euros = sums[name] // 100
        cents = sums[name] % 100
        lines.append("| " + name + " | " + str(euros) + "." + str(cents).rjust(2, "0") + " |")
    return "\n".join(lines) + "\n"


def as_text(entries):
    """Return the sums of each person as lines for people."""
    sums = {}
    for entry in entries:
        name = entry["name"].strip().title()
        if name == "":
            name = "Unknown"
        if name not in sums:
            sums[name] = 0
        sums[name] = sums[name] + entry["cents"]
    names = list(sums.keys())
    names.sort(key=lambda name: (-sums[name], name))
    lines = []
    for name in names:
        euros = sums[name] // 100
        cents = sums[name] % 100
        lines.append(name + " spent " + str(euros) + "." + str(cents).rjust(2, "0"))
    return "\n".join(lines) + "\n"
