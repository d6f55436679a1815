"""Bytes on disk and elsewhere: files written completely or not at all, mapped arrays, copies of remote files."""
