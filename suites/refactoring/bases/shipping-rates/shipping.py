"""What it costs to send a parcel."""


def rate(country, grams, express):
    """Return the price in cents, or None where nothing is sent."""
    if country == "DE":
        if grams <= 500:
            if express:
                return 790
            else:
                return 390
        elif grams <= 2000:
            if express:
                return 990
            else:
                return 550
        elif grams <= 10000:
            if express:
                return 1590
            else:
                return 950
        else:
            return None
    elif country == "FR" or country == "AT" or country == "NL":
        if grams <= 500:
            if express:
                return 1490
            else:
                return 890
        elif grams <= 2000:
            if express:
                return 1990
            else:
                return 1290
        elif grams <= 10000:
            if express:
                return 2990
            else:
                return 1990
        else:
            return None
    elif country == "US":
        if grams <= 500:
            if express:
                return 2990
            else:
                return 1690
        elif grams <= 2000:
            if express:
                return 4990
            else:
                return 2690
        else:
            return None
    else:
        return None
