"""Commands on models: asked, scored, trained."""
