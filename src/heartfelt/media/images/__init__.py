"""Pictures: decoded, measured, named by their colours, compared."""
