"""Commands that publish a study, its site and its benchmark."""
