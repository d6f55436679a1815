"""Readers and writers of recordings: one file per format."""
