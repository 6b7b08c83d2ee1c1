"""What comes next for a rater: arms, conditions, screeners, sessions, and how it ends."""
