"""What is written about a release: card, datasheet, codebook, Croissant, citation, licences, tables, methods, figures."""
