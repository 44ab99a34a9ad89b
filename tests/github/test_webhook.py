"""A team's chat is told of a regression, and its secret address is told to nobody."""

import pytest

from codegate.errors import CodegateError, InfrastructureError, UsageError
from codegate.github.publish import WEBHOOK_VARIABLE, post_message
from tests.kit.http import Reply, Request, Server


def test_a_message_is_posted_as_the_chat_takes_it() -> None:
    got: list[Request] = []

    def respond(request: Request) -> Reply:
        got.append(request)
        return Reply(b"ok")

    server = Server(respond)
    try:
        post_message({WEBHOOK_VARIABLE: f"{server.url}/services/T0/B0/s3cret?v=1"}, "worse <!channel> @all")
        post_message({}, "nobody listens")
    finally:
        server.close()
    [request] = got
    assert request.path == "/services/T0/B0/s3cret?v=1"
    assert request.body == {"text": "worse &lt;!channel&gt; @\u200ball"}, "no text of a model calls everybody"


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("http://hooks.example/s3cret", UsageError),
        ("https://[hooks/s3cret", UsageError),
        ("https://127.0.0.1:9/s3cret", InfrastructureError),
        ("https://hooks..slack.invalid/s3cret", InfrastructureError),
    ],
)
def test_an_address_that_takes_no_message_is_not_shown(address: str, kind: type[CodegateError]) -> None:
    with pytest.raises(kind) as caught:
        post_message({WEBHOOK_VARIABLE: address}, "worse")
    assert "s3cret" not in str(caught.value)
    assert WEBHOOK_VARIABLE in str(caught.value)
