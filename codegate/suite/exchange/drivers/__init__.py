"""Programs that are copied into exported task folders, never imported."""
