from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest
from service import Service

@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path)
    yield service
    service.stop()


def titles(service, query):
    status, body, _ = service.call("GET", f"/notes{query}")
    assert status == 200
    return [note["title"] for note in body["notes"]], body["next"]


def test_a_change_raises_the_version(service):
    assert service.call("POST", "/notes", "Milk")[2]["ETag"] == '"1"'
    status, note, headers = service.call("PUT", "/notes/1", "Bread", If_Match='"1"')
    assert (status, note, headers["ETag"]) == (200, {"id": 1, "title": "Bread", "version": 2}, '"2"')
    assert service.call("GET", "/notes/1")[2]["ETag"] == '"2"'


@pytest.mark.temporal
def test_an_edit_of_an_old_version_changes_nothing(service):
    service.call("POST", "/notes", "Milk")
    service.call("PUT", "/notes/1", "Bread", If_Match='"1"')
    assert service.call("PUT", "/notes/1", "Eggs", If_Match='"1"')[0] == 412
    assert service.call("GET", "/notes/1")[1] == {"id": 1, "title": "Bread", "version": 2}


@pytest.mark.edge_case
def test_a_change_needs_a_version(service):
    service.call("POST", "/notes", "Milk")
    assert service.call("PUT", "/notes/1", "Bread")[0] == 428
    assert service.call("PUT", "/notes/1", "Bread", If_Match="1")[0] == 412
    assert service.call("GET", "/notes/1")[1]["title"] == "Milk"


@pytest.mark.temporal
def test_one_of_two_writers_wins(service):
    service.call("POST", "/notes", "start")
    for version in range(1, 6):
        with ThreadPoolExecutor(6) as pool:
            answers = pool.map(
                lambda name, seen=f'"{version}"': service.call("PUT", "/notes/1", name, If_Match=seen)[0], "abcdef"
            )
            assert sorted(answers) == [200, 412, 412, 412, 412, 412]
    assert service.call("GET", "/notes/1")[1]["version"] == 6


def test_pages(service):
    for number in range(5):
        service.call("POST", "/notes", f"n{number}")
    assert titles(service, "?limit=2") == (["n0", "n1"], 2)
    assert titles(service, "?limit=2&after=2") == (["n2", "n3"], 4)
    assert titles(service, "?limit=2&after=4") == (["n4"], None)


@pytest.mark.edge_case
def test_the_last_page_can_be_full(service):
    for number in range(4):
        service.call("POST", "/notes", f"n{number}")
    assert titles(service, "?limit=2&after=2") == (["n2", "n3"], None)
    assert titles(service, "?after=4") == ([], None)


def test_twenty_are_listed_at_first(service):
    for number in range(21):
        service.call("POST", "/notes", str(number))
    found, following = titles(service, "")
    assert (len(found), following) == (20, 20)


@pytest.mark.edge_case
@pytest.mark.parametrize("query", ["?limit=0", "?limit=101", "?limit=x", "?limit=", "?after=x", "?after=-1"])
def test_bad_pages(service, query):
    assert service.call("GET", f"/notes{query}")[0] == 400


def test_a_search(service):
    for title in ("Buy milk", "Sell MILK", "Bread"):
        service.call("POST", "/notes", title)
    assert titles(service, "?q=milk") == (["Buy milk", "Sell MILK"], None)
    assert titles(service, "?q=milk&limit=1") == (["Buy milk"], 1)
    assert titles(service, "?q=milk&after=1") == (["Sell MILK"], None)


@pytest.mark.edge_case
@pytest.mark.parametrize(("text", "found"), [("%25", "100% sure"), ("_", "snake_case"), ("%27", "it's"), ("%5C", "a\\b")])
def test_a_search_for_signs(service, text, found):
    for title in ("100% sure", "snake_case", "it's", "a\\b", "plain"):
        service.call("POST", "/notes", title)
    assert titles(service, f"?q={text}") == ([found], None)


def test_what_is_deleted_is_gone(service):
    service.call("POST", "/notes", "Milk")
    service.call("POST", "/notes", "Bread")
    assert service.call("DELETE", "/notes/1")[0] == 204
    assert titles(service, "") == (["Bread"], None)
    assert service.call("GET", "/notes/1")[0] == 410
    assert service.call("PUT", "/notes/1", "Eggs", If_Match='"1"')[0] == 410
    assert service.call("DELETE", "/notes/1")[0] == 410


@pytest.mark.temporal
def test_an_id_is_never_used_again(service):
    service.call("POST", "/notes", "Milk")
    service.call("DELETE", "/notes/1")
    assert service.call("POST", "/notes", "Bread")[1]["id"] == 2


@pytest.mark.edge_case
def test_unknown_notes(service):
    assert service.call("PUT", "/notes/9", "x", If_Match='"1"')[0] == 404
    assert service.call("DELETE", "/notes/9")[0] == 404
    assert service.call("GET", "/notes/x")[0] == 404


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.items, self.inside = {}, [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.setdefault(tag, []).append(dict(attributes))
        if tag == "li":
            self.items.append([dict(attributes), ""])
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "li"

    def handle_data(self, data):
        if self.inside:
            self.items[-1][1] += data


def test_the_page(service):
    service.call("POST", "/notes", "Milk")
    service.call("PUT", "/notes/1", "Bread", If_Match='"1"')
    service.call("POST", "/notes", "Eggs")
    status, text, headers = service.call("GET", "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    page = Page(text)
    assert page.items == [[{"data-id": "1", "data-version": "2"}, "Bread"], [{"data-id": "2", "data-version": "1"}, "Eggs"]]


def test_the_page_searches(service):
    for title in ("Milk", "Bread"):
        service.call("POST", "/notes", title)
    page = Page(service.call("GET", "/?q=bre")[1])
    assert [title for _, title in page.items] == ["Bread"]
    assert page.tags["form"][0]["method"].lower() == "get"
    (field,) = [field for field in page.tags["input"] if field.get("name") == "q"]
    assert (field["value"], bool(field["aria-label"])) == ("bre", True)


@pytest.mark.edge_case
@pytest.mark.parametrize("title", ["<script>alert(1)</script>", "a & b", "&lt;", '"quoted\'', "$items"])
def test_titles_are_text(service, title):
    service.call("POST", "/notes", title)
    page = Page(service.call("GET", "/")[1])
    assert [text for _, text in page.items] == [title]
    assert "script" not in page.tags


@pytest.mark.edge_case
def test_the_search_is_text(service):
    page = Page(service.call("GET", "/?q=%22%3E%3Cscript%3E")[1])
    assert "script" not in page.tags
    assert [field["value"] for field in page.tags["input"] if field.get("name") == "q"] == ['"><script>']


@pytest.mark.edge_case
def test_a_blank_title(service):
    service.call("POST", "/notes", "  ")
    assert Page(service.call("GET", "/")[1]).items[0][1] == "Untitled"
