"""The gate's thresholds, the baseline's place and the report's terms: what the configuration says, or the defaults."""

from pathlib import Path

from codegate.gating import GatePolicy
from codegate.reporting import Terms, terms_of
from codegate.running import CONFIG_NAME, Config
from codegate.running.config import load_config


def gate_settings(config: Path | None) -> tuple[GatePolicy, Path, Terms]:
    """Return policy, lock file and report terms of ``config``, or of the codegate.yml here where there is one.

    Raises:
        UsageError: the file is missing or broken.
    """
    path = Path(CONFIG_NAME) if config is None and Path(CONFIG_NAME).exists() else config
    if path is None:
        return GatePolicy(), Path(str(Config.model_fields["baseline"].default)), terms_of(None)
    settings = load_config(path)
    return settings.gate, path.parent / settings.baseline, terms_of(settings)
