"""The battery: attacks as real patches, manifests, transcripts and artifacts, run through the real command line.

``python -m tests.redteam`` prints the table; the ``test_*.py`` here run a fast selection of it on every landing.
"""
