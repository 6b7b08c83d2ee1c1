"""The parts of a study, each valid in itself."""
