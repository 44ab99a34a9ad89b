"""What another expectation has in common with the right one.

A program that reads what it is asked for can look at that before it gives it back: whether it has the letters of what
the program would have said by itself, say. A control for which such a program is off shows nothing. So the choices of
a text or a whole number come in parts, each a mutant of its own: what one control did not ask for, the next one does.
"""

import re

from codegate.grading.controls.sites import Likeness, Mutant

_TEXT = re.compile(r"[^\W\d_]|['\"`]$")
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def split_by_likeness(mutant: Mutant, text: str) -> list[Mutant]:
    """Return ``mutant`` as one for each likeness that its choices have to ``text``, which they take the place of.

    Fractions and operators, what is copied or changed along with others, and what is right by chance for one choice
    and hardly for two stay as they are.
    """
    if mutant.loose or mutant.donors or mutant.also or not (_NUMBER.fullmatch(text) or _TEXT.search(text)):
        return [mutant]
    parts: dict[Likeness, list[str]] = {}
    for choice in mutant.choices:
        parts.setdefault(_likeness(choice, text), []).append(choice)
    return [mutant.model_copy(update={"choices": tuple(part), "like": like}) for like, part in parts.items()]


def _likeness(choice: str, text: str) -> Likeness:
    if _NUMBER.fullmatch(text):
        return "size" if _NUMBER.fullmatch(choice) and abs(int(choice) - int(text)) == 1 else ""
    one, other = ("".join(sign for sign in entry if sign.isalnum()) for entry in (choice, text))
    if one == other:
        return "signs"
    return "case" if one.casefold() == other.casefold() else ""
