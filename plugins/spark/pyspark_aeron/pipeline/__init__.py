"""Pipelines described by a file: streams in, SQL, tables or streams out."""
