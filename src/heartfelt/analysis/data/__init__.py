"""What figures are made from, and how much of it: ratings by question, counts, what was registered and paid."""
