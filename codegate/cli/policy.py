"""The gate's thresholds and the baseline's place: what the configuration says, or the defaults."""

from pathlib import Path

from codegate.gating import GatePolicy
from codegate.running import CONFIG_NAME, Config, load_config


def gate_settings(config: Path | None) -> tuple[GatePolicy, Path]:
    """Return policy and lock file of ``config``, or of the codegate.yml here where there is one.

    Raises:
        UsageError: the file is missing or broken.
    """
    if config is None and Path(CONFIG_NAME).exists():
        config = Path(CONFIG_NAME)
    if config is None:
        return GatePolicy(), Path(str(Config.model_fields["baseline"].default))
    settings = load_config(config)
    return settings.gate, config.parent / settings.baseline
