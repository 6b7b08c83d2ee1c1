"""Readers of the files other people's weights come in. They read numbers; none of them runs code."""
