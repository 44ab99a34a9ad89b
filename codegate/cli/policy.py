"""The gate's thresholds, the baseline's place and the report's terms: what the configuration says, or the defaults."""

from pathlib import Path

from codegate.gating import GatePolicy
from codegate.reporting import Terms, terms_of
from codegate.running import CONFIG_NAME, Config
from codegate.running.config import load_config


def gate_settings(config: Path | None) -> tuple[GatePolicy, Path]:
    """Return policy and lock file of ``config``, or of the codegate.yml here where there is one.

    Raises:
        UsageError: the file is missing or broken.
    """
    path = _path(config)
    if path is None:
        return GatePolicy(), Path(str(Config.model_fields["baseline"].default))
    settings = load_config(path)
    return settings.gate, path.parent / settings.baseline


def report_terms(config: Path | None) -> Terms:
    """Return prices, weights and limits of ``config``, or of the codegate.yml here where there is one.

    Raises:
        UsageError: the file is missing or broken.
    """
    path = _path(config)
    return terms_of(load_config(path) if path is not None else None)


def _path(config: Path | None) -> Path | None:
    default = Path(CONFIG_NAME)
    return default if config is None and default.exists() else config
