"""What is published: the release, its record, splits and checksums."""
