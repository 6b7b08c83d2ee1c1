"""What the rules see of a snapshot: coded answers, presentations, and what the other raters say."""
