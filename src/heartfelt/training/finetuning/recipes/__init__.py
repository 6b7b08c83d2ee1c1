"""The recipes that come with heartfelt."""
