"""Bytes on disk and elsewhere: files written whole or not at all, mapped arrays, copies of remote files."""
