"""What comparisons say about who judged: consistency, concordance and position bias."""
