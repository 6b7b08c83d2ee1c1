"""How pages are laid out: sections from templates, tables, media, and text made safe for Markdown and LaTeX."""
