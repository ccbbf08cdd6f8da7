"""Formats of files: what their first bytes say, how they are unpacked, decoded and split."""
