"""Programs that go into exported task folders. They are never imported: their text is copied there."""
