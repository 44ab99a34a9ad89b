"""What things cost."""

import json
import urllib.request

_known = {}


def price_of(item):
    """Return the price of an item in cents, asked of the price service once."""
    if item not in _known:
        with urllib.request.urlopen(f"http://prices.local/{item}") as answer:
            _known[item] = json.load(answer)["cents"]
    return _known[item]
