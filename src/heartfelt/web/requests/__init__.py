"""What every part needs to answer a request: options, errors, files, templates."""
