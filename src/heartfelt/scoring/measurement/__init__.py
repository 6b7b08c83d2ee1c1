"""One metric of one sheet in every form, and its ceiling."""
