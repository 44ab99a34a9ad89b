"""Accounts, to the cent and to the day."""

from decimal import Decimal

Amount = Decimal | str | int


def split(amount: Amount, parts: int) -> list[Decimal]:
    """Return ``amount`` in as equal parts as cents allow."""
    raise NotImplementedError


class Ledger:
    """Holds accounts by name; days are numbers."""

    def deposit(self, account: str, amount: Amount, day: int) -> None:
        """Add ``amount`` to an account."""
        raise NotImplementedError

    def transfer(self, source: str, target: str, amount: Amount, day: int) -> None:
        """Move ``amount`` from one account to another."""
        raise NotImplementedError

    def balance(self, account: str, day: int) -> Decimal:
        """Return what an account holds at the end of ``day``."""
        raise NotImplementedError

    def interest(self, account: str, yearly: Decimal, first: int, last: int) -> Decimal:
        """Return the interest of the days from ``first`` to ``last``."""
        raise NotImplementedError
