"""Readers and writers of recordings: one file a format."""
