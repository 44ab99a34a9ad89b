import hmac
from hashlib import sha256

import pytest
from webhooks import Rejected, Webhooks, sign

OLD, NEW, BODY = b"old secret", b"new secret", b'{"event": "paid"}'


class Receiver:
    def __init__(self, *secrets):
        self.now = 10_000
        self.webhooks = Webhooks(list(secrets) or [NEW], lambda: self.now)

    def reason(self, header, body=BODY):
        try:
            self.webhooks.receive(header, body)
        except Rejected as error:
            return error.args[0]
        return None


@pytest.fixture
def receiver():
    return Receiver()


def test_a_genuine_message(receiver):
    assert receiver.webhooks.receive(sign(NEW, BODY, 10_000), BODY) == {"event": "paid"}


def test_the_signature_is_as_documented():
    expected = hmac.new(NEW, b"5." + BODY, sha256).hexdigest()
    assert sign(NEW, BODY, 5) == f"t=5,v1={expected}"


def test_another_secret(receiver):
    assert receiver.reason(sign(OLD, BODY, 10_000)) == "signature"


def test_the_body_is_signed(receiver):
    assert receiver.reason(sign(NEW, BODY, 10_000), b'{"event": "lost"}') == "signature"


def test_the_time_is_signed(receiver):
    assert receiver.reason(sign(NEW, BODY, 9_000).replace("9000", "10000")) == "signature"


def test_both_secrets_are_valid_while_they_change():
    receiver = Receiver(OLD, NEW)
    assert receiver.reason(sign(OLD, BODY, 10_000)) is None
    assert receiver.reason(sign(NEW, BODY, 10_001)) is None


def test_one_of_several_signatures_is_enough(receiver):
    genuine = sign(NEW, BODY, 10_000).partition("v1=")[2]
    assert receiver.reason(f"t=10000, v0=x ,v1={'0' * 64}, v1={genuine}") is None


@pytest.mark.edge_case
@pytest.mark.parametrize("header", ["", "t=10000", "v1=00", "t=,v1=00", "t=1e4,v1=00", "t=-5,v1=00", "t=1,t=1,v1=00", "t=1,v1=00,x"])
def test_malformed_headers(receiver, header):
    assert receiver.reason(header) == "malformed"


@pytest.mark.edge_case
@pytest.mark.parametrize("value", ["", "zz", "é"])
def test_odd_signatures(receiver, value):
    assert receiver.reason(f"t=10000,v1={value}") == "signature"


@pytest.mark.edge_case
def test_signatures_are_in_lower_case(receiver):
    name, _, value = sign(NEW, BODY, 10_000).rpartition("=")
    assert receiver.reason(f"{name}={value.upper()}") == "signature"


@pytest.mark.edge_case
@pytest.mark.parametrize("body", [b"[]", b"", b"{", b'"x"', b'{"a": "\xff"}', b"null"])
def test_bodies_that_are_no_objects(receiver, body):
    assert receiver.reason(sign(NEW, body, 10_000), body) == "body"
    assert receiver.reason(sign(NEW, body, 10_000), body) == "repeated"


@pytest.mark.edge_case
def test_secrets_are_needed():
    with pytest.raises(ValueError):
        Webhooks([], lambda: 0)


@pytest.mark.temporal
@pytest.mark.parametrize(("away", "reason"), [(-301, "time"), (-300, None), (300, None), (301, "time")])
def test_the_time(receiver, away, reason):
    assert receiver.reason(sign(NEW, BODY, 10_000 + away)) == reason


@pytest.mark.temporal
def test_a_message_is_accepted_once():
    receiver = Receiver(OLD, NEW)
    assert receiver.reason(sign(NEW, BODY, 10_000)) is None
    receiver.now += 5
    assert receiver.reason(sign(NEW, BODY, 10_000)) == "repeated"
    assert receiver.reason(sign(OLD, BODY, 10_000)) == "repeated"
    assert receiver.reason(sign(NEW, BODY, 10_001)) is None


@pytest.mark.temporal
def test_a_message_from_the_future_is_remembered_long_enough(receiver):
    assert receiver.reason(sign(NEW, BODY, 10_300)) is None
    receiver.now = 10_600
    assert receiver.reason(sign(NEW, BODY, 10_300)) == "repeated"


@pytest.mark.temporal
def test_old_messages_are_forgotten(receiver):
    for time in (9_900, 10_000, 10_100):
        receiver.reason(sign(NEW, BODY, time))
    assert len(receiver.webhooks) == 3
    receiver.now = 10_301
    assert len(receiver.webhooks) == 1


@pytest.mark.temporal
def test_rejected_messages_are_not_remembered(receiver):
    assert receiver.reason(sign(OLD, BODY, 10_000)) == "signature"
    assert receiver.reason(sign(NEW, BODY, 10_301)) == "time"
    assert len(receiver.webhooks) == 0
    receiver.now = 10_100
    assert receiver.reason(sign(NEW, BODY, 10_301)) is None
