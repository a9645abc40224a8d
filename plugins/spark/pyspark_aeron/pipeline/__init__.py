"""Pipelines that a file describes: streams in, SQL, tables or streams out."""
