"""Who may do what: signed cookies, passwords, tokens, limits, and headers on every answer."""
