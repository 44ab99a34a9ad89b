import pytest
from search.matching import matches
from search.parsing import QuerySyntaxError, parse


def word(text):
    return ("word", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("printer", word("printer")),
        ("printer jam", ("and", word("printer"), word("jam"))),
        ("a OR b", ("or", word("a"), word("b"))),
        ("a b OR c", ("or", ("and", word("a"), word("b")), word("c"))),
        ("a (b OR c)", ("and", word("a"), ("or", word("b"), word("c")))),
        ("-a", ("not", word("a"))),
        ('"paper jam"', word("paper jam")),
        ("state:open", ("field", "state", "open")),
        ('owner:"Ann Lee"', ("field", "owner", "Ann Lee")),
        ("votes:>5", ("range", "votes", 6, None)),
        ("votes:>=5", ("range", "votes", 5, None)),
        ("votes:<5", ("range", "votes", None, 4)),
        ("votes:<=-5", ("range", "votes", None, -5)),
        ("votes:3..7", ("range", "votes", 3, 7)),
        ("-(a b)", ("not", ("and", word("a"), word("b")))),
        ("-state:open", ("not", ("field", "state", "open"))),
    ],
)
def test_queries(text, expected):
    assert parse(text) == expected


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("and",)),
        ("  \t", ("and",)),
        ("((a))", word("a")),
        ("a (b c)", ("and", word("a"), ("and", word("b"), word("c")))),
        ("a OR b OR c", ("or", word("a"), word("b"), word("c"))),
        ("ORDER or", ("and", word("ORDER"), word("or"))),
        ('"OR"', word("OR")),
        ("(a)OR(b)", ("or", word("a"), word("b"))),
        (r'"say \"hi\" \\ \n"', word('say "hi" \\ \\n')),
        ('""', word("")),
        ('a"b"', ("and", word("a"), word("b"))),
        (">5", word(">5")),
        ("A:b", word("A:b")),
        ("x1:y", word("x1:y")),
        ('votes:">5"', ("field", "votes", ">5")),
        ("votes:>x", ("field", "votes", ">x")),
        ("votes:3..", ("field", "votes", "3..")),
        ("a:b:c", ("field", "a", "b:c")),
        ("a-b", word("a-b")),
        ("--a", ("not", ("not", word("a")))),
        ("votes:-3..-1", ("range", "votes", -3, -1)),
    ],
)
def test_odd_queries(text, expected):
    assert parse(text) == expected


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("OR a", 0),
        ("a OR", 2),
        ("a OR OR b", 2),
        ("(a OR )", 3),
        ("a)", 1),
        ("a (b", 2),
        ("((a)", 0),
        ('a "b', 2),
        ('f:"b', 2),
        ("a ()", 2),
        ("a -", 2),
        ("- a", 0),
        ("(-)", 1),
        ("-OR b", 0),
        ("a state:", 2),
        ("state: a", 0),
        ("state:(a)", 0),
    ],
)
def test_what_cannot_be_read(text, place):
    with pytest.raises(QuerySyntaxError) as raised:
        parse(text)
    assert raised.value.args[1] == place


TICKET = {"title": "Printer JAM", "text": "Paper in Straße 5", "state": "open", "votes": 5, "tags": ["Hardware", "new-ish"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("printer paper", True),
        ("printer -paper", False),
        ("toner OR jam", True),
        ("state:OPEN", True),
        ("state:clos", False),
        ("tags:hardware", True),
        ("votes:5..9", True),
        ("votes:>5", False),
        ("-(toner OR ink)", True),
        ("", True),
    ],
)
def test_tickets(text, expected):
    assert matches(parse(text), TICKET) is expected


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("STRASSE", True),
        ("tags:new", False),
        ("state:pen", True),
        ("owner:ann", False),
        ("-owner:ann", True),
        ("votes:5", False),
        ("state:>1", False),
        ("tags:>1", False),
        ("hardware", False),
        ("votes:9..1", False),
    ],
)
def test_odd_tickets(text, expected):
    assert matches(parse(text), TICKET) is expected


@pytest.mark.edge_case
def test_truth_is_no_number():
    assert matches(("range", "done", 0, 1), {"done": True}) is False
