"""How Go's toolchain is started in a sandbox; the drivers that do bring this text along.

Whatever is built by the same settings finds what it is linked with in the environment's build cache.
"""

from __future__ import annotations

GO_SETTINGS = {
    "GOENV": "off", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOPROXY": "off", "GOSUMDB": "off", "GOVCS": "*:off",
    "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0", "GOTELEMETRY": "off", "GOMAXPROCS": "2",
}  # fmt: skip
#: A read-only cache has no index of the standard library's folders, and gets none.
BUILDING = {"GODEBUG": "goindex=0"}
