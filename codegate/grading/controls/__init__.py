"""Check by marks and changed copies that passes are earned."""
