# The image of the GitHub Action, and a way to run the command without installing it.
# Plain instructions only, so that every builder takes it. The runner wants root and no WORKDIR of ours.
FROM python:3.11-slim-bookworm

RUN command -v git >/dev/null || \
    (apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*)

COPY .ci/requirements.lock /opt/codegate/source/
RUN python3 -m venv /opt/codegate/venv && \
    /opt/codegate/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes \
        -r /opt/codegate/source/requirements.lock

COPY pyproject.toml README.md CHANGELOG.md LICENSE /opt/codegate/source/
COPY codegate /opt/codegate/source/codegate
COPY suites /opt/codegate/source/suites
RUN /opt/codegate/venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps /opt/codegate/source && \
    /opt/codegate/venv/bin/codegate --version

ENTRYPOINT ["/opt/codegate/venv/bin/codegate", "action"]
