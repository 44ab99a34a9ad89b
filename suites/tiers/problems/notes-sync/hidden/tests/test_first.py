import pytest
from service import Service


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path)
    yield service
    service.stop()


def test_a_note_is_kept(service):
    status, note, _ = service.call("POST", "/notes", "Milk")
    assert (status, note) == (201, {"id": 1, "title": "Milk", "version": 1})
    assert service.call("GET", "/notes/1")[1] == note


def test_an_unknown_note(service):
    assert service.call("GET", "/notes/7")[0] == 404
