"""Archives of Aeron Archive, the recorder of the reference, read as recordings: docs/wire/archive-files.md."""
