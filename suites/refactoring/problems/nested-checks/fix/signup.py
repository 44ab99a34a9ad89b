"""Check what people fill in."""


def problem_with(form, taken):
    """Return what is wrong with a form, or None."""
    return _name(form, taken) or _password(form) or _terms(form) or _age(form)


def _name(form, taken):
    if "name" not in form:
        return "name is missing"
    name = form["name"].strip()
    if not name:
        return "name is empty"
    if len(name) > 20:
        return "name is too long"
    if not name.isalnum():
        return "name has odd characters"
    return "name is taken" if name.lower() in taken else None


def _password(form):
    if "password" not in form:
        return "password is missing"
    if len(form["password"]) < 8:
        return "password is too short"
    hidden = form["name"].strip().lower() in form["password"].lower()
    return "password has the name in it" if hidden else None


def _terms(form):
    return None if form.get("terms") is True else "terms not accepted"


def _age(form):
    age = form.get("age", 16)
    if not isinstance(age, int):
        return "age is not a number"
    return "too young" if age < 16 else None
