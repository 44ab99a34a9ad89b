"""Accounts, to the cent and to the day."""

from bisect import bisect_right
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

Amount = Decimal | str | int
_CENT = Decimal("0.01")


def split(amount: Amount, parts: int) -> list[Decimal]:
    """Return ``amount`` in as equal parts as cents allow."""
    if parts < 1:
        raise ValueError("there is at least one part")
    each, more = divmod(_cents(amount), parts)
    return [_money(each + (number < more)) for number in range(parts)]


def _cents(amount: Amount) -> int:
    if isinstance(amount, bool) or not isinstance(amount, Decimal | str | int):
        raise TypeError("an amount is a Decimal, a text or an int")
    try:
        cents = int(Decimal(amount).quantize(_CENT, rounding=ROUND_HALF_EVEN) * 100)
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise ValueError(f"{amount!r} is no amount") from error
    if cents < 1:
        raise ValueError("an amount is above 0")
    return cents


def _money(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)


class _Account:
    """The days on which something was entered, each entry with the balance after it, in cents."""

    def __init__(self) -> None:
        self.days: list[int] = []
        self.balances: list[int] = []

    def balance(self, day: int) -> int:
        place = bisect_right(self.days, day)
        return self.balances[place - 1] if place else 0

    def least(self, day: int) -> int:
        """Return the lowest balance on ``day`` and later."""
        return min([self.balance(day), *self.balances[bisect_right(self.days, day) :]])

    def enter(self, cents: int, day: int) -> None:
        place = bisect_right(self.days, day)
        before = self.balances[place - 1] if place else 0
        self.days.insert(place, day)
        self.balances[place:] = [before + cents, *(later + cents for later in self.balances[place:])]


class Ledger:
    """Holds accounts by name; days are numbers."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}

    def deposit(self, account: str, amount: Amount, day: int) -> None:
        """Add ``amount`` to an account."""
        self._account(account).enter(_cents(amount), day)

    def transfer(self, source: str, target: str, amount: Amount, day: int) -> None:
        """Move ``amount`` from one account to another."""
        cents = _cents(amount)
        if source == target:
            raise ValueError("the accounts are the same")
        if self._account(source).least(day) < cents:
            raise ValueError(f"{source} does not hold {amount}")
        self._account(source).enter(-cents, day)
        self._account(target).enter(cents, day)

    def balance(self, account: str, day: int) -> Decimal:
        """Return what an account holds at the end of ``day``."""
        return _money(self._account(account).balance(day))

    def interest(self, account: str, yearly: Decimal, first: int, last: int) -> Decimal:
        """Return the interest of the days from ``first`` to ``last``."""
        found = self._account(account)
        starts = [first, *(day for day in found.days if first < day <= last), max(first, last + 1)]
        total = sum(found.balance(day) * (end - day) for day, end in zip(starts, starts[1:], strict=False))
        return (total * yearly / 365 / 100).quantize(_CENT, rounding=ROUND_HALF_EVEN)

    def _account(self, name: str) -> _Account:
        return self._accounts.setdefault(name, _Account())
