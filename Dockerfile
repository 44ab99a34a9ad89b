# The image of the GitHub Action. Plain instructions only, so that every builder takes it.
# The runner wants root (the daemon's socket is root's), no WORKDIR of ours and an absolute ENTRYPOINT.
FROM python:3.11-slim-bookworm

RUN command -v git >/dev/null || \
    (apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*)

# Everything that is installed is pinned by hash; codegate itself needs no build, only a place on the path. The base's
# pip installs: one of its own would be 20 MB that nothing uses afterwards. Left out, since nothing uses them: AWS's
# descriptions of its services (requests to Bedrock are signed, no client is made), and rich's colours for source code.
COPY .ci/requirements-image.lock /opt/codegate/requirements.lock
RUN python3 -m venv --without-pip /opt/codegate/venv && \
    python3 -m pip --python /opt/codegate/venv/bin/python install --no-cache-dir --disable-pip-version-check \
        --no-compile --require-hashes --only-binary :all: -r /opt/codegate/requirements.lock && \
    cd /opt/codegate/venv/lib/python3*/site-packages && \
    rm -r botocore/data/*/ boto3/examples pygments

# Byte code only of what a run imports, which Python writes as it imports: that of everything would be 24 MB more.
COPY LICENSE /opt/codegate/LICENSE
COPY codegate /opt/codegate/source/codegate
RUN echo /opt/codegate/source >"$(echo /opt/codegate/venv/lib/python3*/site-packages)/codegate.pth" && \
    /opt/codegate/venv/bin/python -m compileall -q /opt/codegate/source && \
    /opt/codegate/venv/bin/python -I -m codegate --version && \
    /opt/codegate/venv/bin/python -I -c "import anthropic.resources.messages, anyio._backends._asyncio, boto3, \
    botocore.auth, codegate.github.entry, codegate.mining, docker, genai_prices.data_snapshot, google.auth.identity_pool, \
    google.auth.transport.requests, google.oauth2.service_account, httpcore2, junit_xml, openai.resources.chat, \
    openai.resources.responses, opentelemetry.exporter.otlp.proto.http.trace_exporter, rich.progress, truststore, uv"

# For scripts, and what runs after the job, which is a path, because that is all the runner takes.
RUN printf '#!/bin/sh\nexec /opt/codegate/venv/bin/python -I -m codegate "$@"\n' >/usr/local/bin/codegate && \
    printf '#!/bin/sh\nexec /usr/local/bin/codegate action --reap\n' >/opt/codegate/reap && \
    chmod 755 /usr/local/bin/codegate /opt/codegate/reap

# Isolated (-I): neither the workspace nor a PYTHONPATH of the workflow can put modules in front of ours.
ENTRYPOINT ["/opt/codegate/venv/bin/python", "-I", "-m", "codegate", "action"]
