"""Access control: signed cookies, passwords, API tokens, rate limits, origins and security headers."""
