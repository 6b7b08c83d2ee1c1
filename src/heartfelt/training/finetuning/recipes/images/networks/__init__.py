"""The networks themselves, in PyTorch, which is imported with them: nothing else imports this package before it is used."""
