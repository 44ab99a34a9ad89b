"""The cart of a customer."""

from shop.prices import price_of

_carts = {}


def add(customer, item, count=1):
    """Put an item into the cart."""
    cart = _carts.setdefault(customer, [])
    for line in cart:
        if line["item"] == item:
            line["count"] += count
            return
    cart.append({"item": item, "count": count})


def total(customer):
    """Return what the cart costs, in cents."""
    return sum(price_of(line["item"]) * line["count"] for line in _carts.get(customer, []))
