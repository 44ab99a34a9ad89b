"""Fixes by other means than the reference fix: as others would have written them."""

from collections.abc import Mapping
from typing import Final

from tests.redteam.grader.projects import Files

_PRICES_BY_HAND: Final = '''\
"""Prices of a basket."""

import math
from decimal import ROUND_HALF_UP, Decimal


def total(prices, discount=0.0):
    if discount < 0 or discount > 1:
        message = "the discount has to be a share, and is not between 0 and 1"
        raise ValueError(message)
    whole = 0
    for price in prices:
        whole += price
    return whole if not discount else math.fsum([whole, -whole * discount])


def label(amount, currency="EUR"):
    cents = Decimal(str(amount)).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return "{:,} {}".format(cents, currency)


def cheapest(prices):
    place = min(range(len(prices)), key=prices.__getitem__)
    return (prices[place], place)


def split(amount, people):
    return [amount // people + (number < amount % people) for number in range(people)]
'''

_PRICES_BY_CLASS: Final = '''\
"""Prices of a basket."""

from basket.money import Basket, show


class DiscountError(ValueError):
    pass


def total(prices, discount=0.0):
    return Basket(prices, DiscountError).pay(discount)


def label(amount, currency="EUR"):
    return show(amount, currency)


def cheapest(prices):
    return min((price, place) for place, price in enumerate(prices))


def split(amount, people):
    shares, left = [], amount
    for waiting in range(people, 0, -1):
        shares.append(-(-left // waiting))
        left -= shares[-1]
    return shares
'''

_MONEY: Final = '''\
"""Money."""

from dataclasses import dataclass


@dataclass
class Basket:
    prices: list
    error: type

    def pay(self, discount):
        if not 0 <= discount <= 1:
            raise self.error("it is not between 0 and 1: %r" % discount)
        return sum(self.prices) * (1 - discount)


def show(amount, currency):
    return f"{round(amount, 2):,.2f} {currency}"
'''

_ACCOUNT: Final = '''\
"""Accounts."""

import math
from collections import deque


class OverdrawnError(Exception):
    def __init__(self, balance, amount):
        super().__init__(balance, amount)
        self.balance, self.amount = balance, amount

    def __str__(self):
        return "%s is less than %s" % (self.balance, self.amount)


class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self._balance = balance
        self._entries = deque()

    @property
    def balance(self):
        return self._balance

    def _enter(self, amount):
        self._entries.appendleft(amount)
        self._balance += amount
        return self._balance

    def deposit(self, amount):
        if not amount > 0:
            raise ValueError(amount)
        return self._enter(amount)

    def withdraw(self, amount):
        if self._balance - amount < 0:
            raise OverdrawnError(self._balance, amount)
        return self._enter(-amount)

    def history(self, limit=None):
        entries = list(self._entries)
        return entries if limit is None else entries[:limit]

    def interest(self, rate, years):
        return self._balance * math.exp(years * math.log1p(rate))
'''

_RENDER: Final = '''\
"""Fables as text."""

import string
from importlib import resources


class _Template(string.Formatter):
    def get_value(self, key, args, kwargs):
        return kwargs[key]


def render(template, values):
    return _Template().vformat(template, (), values)


def outline(text):
    found = {}
    for line in text.splitlines():
        depth = 0
        while line[depth : depth + 1] == "#":
            depth += 1
        if depth:
            found[line[depth:].strip()] = depth
    return found


class Catalogue:
    def __init__(self):
        with resources.files("fables").joinpath("data", "fables.txt").open(encoding="utf-8") as file:
            self.titles = list(filter(None, map(str.strip, file)))

    def find(self, word):
        found = [title for title in self.titles if word.lower() in title.lower()]
        found.sort()
        return found

    def count(self):
        letters = {}
        for title in self.titles:
            letters[title[0]] = letters.get(title[0], 0) + 1
        return letters
'''

_SLUG_SPLIT: Final = '''\
"""Names for addresses."""

import re
import unicodedata


class Slug(str):
    """A name; equal to a text with the same signs."""

    __slots__ = ()

    def __eq__(self, other):
        return isinstance(other, str) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

    def __str__(self):
        return "".join(self)


def slug(title):
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return Slug("-".join(re.findall(r"[a-z0-9]+", plain.casefold())))
'''

REWRITES: Final[Mapping[str, tuple[str, Files]]] = {
    "by-hand@functions": ("functions", {"basket/prices.py": _PRICES_BY_HAND}),
    "by-class@functions": ("functions", {"basket/prices.py": _PRICES_BY_CLASS, "basket/money.py": _MONEY}),
    "by-queue@unittest": ("unittest", {"bank/account.py": _ACCOUNT}),
    "by-formatter@layout": ("layout", {"src/fables/render.py": _RENDER}),
    "by-class@single": ("single", {"slugs/slug.py": _SLUG_SPLIT}),
}
