"""Run folders: what training leaves, opened, continued and published."""
