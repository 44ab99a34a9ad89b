"""Check what people fill in."""


def problem_with(form, taken):
    """Return what is wrong with a form, or None."""
    if "name" in form:
        name = form["name"].strip()
        if name:
            if len(name) <= 20:
                if name.isalnum():
                    if name.lower() not in taken:
                        if "password" in form:
                            password = form["password"]
                            if len(password) >= 8:
                                if name.lower() not in password.lower():
                                    if form.get("terms") is True:
                                        if "age" in form:
                                            if isinstance(form["age"], int):
                                                if form["age"] >= 16:
                                                    return None
                                                else:
                                                    return "too young"
                                            else:
                                                return "age is not a number"
                                        else:
                                            return None
                                    else:
                                        return "terms not accepted"
                                else:
                                    return "password has the name in it"
                            else:
                                return "password is too short"
                        else:
                            return "password is missing"
                    else:
                        return "name is taken"
                else:
                    return "name has odd characters"
            else:
                return "name is too long"
        else:
            return "name is empty"
    else:
        return "name is missing"
