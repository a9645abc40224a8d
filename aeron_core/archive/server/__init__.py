"""Server of the Archive protocol: records and replays for clients of Aeron Archive, into its files."""
