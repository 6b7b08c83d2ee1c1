"""How far raters agree: reliability, kappas, categories and tags, drafts and senior raters."""
