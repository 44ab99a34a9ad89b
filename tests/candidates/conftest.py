import ipaddress
import socket

import pytest

CANARY = "sk-canary-Zq7Lw2Xv9Rt4Bn8Kp1Md6Ys3"


@pytest.fixture(autouse=True)
def canary_key(monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    return CANARY


@pytest.fixture
def private_address() -> str:
    """This machine's address on its network, where that is a private one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))  # chooses the interface; nothing is sent
        except OSError as error:
            pytest.skip(f"this machine is on no network: {error}")
        found = str(probe.getsockname()[0])
    if not ipaddress.ip_address(found).is_private:
        pytest.skip(f"{found} is a public address")
    return found
