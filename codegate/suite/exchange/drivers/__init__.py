"""Programs that are copied into exported task folders.

They are never imported.
"""
