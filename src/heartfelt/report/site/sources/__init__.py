"""What the pages of a site are made from: benches, boards, and what is public."""
