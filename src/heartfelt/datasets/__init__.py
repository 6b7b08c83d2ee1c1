"""Published datasets, each at home in a folder of its own; nothing else in heartfelt knows them by name.

A folder holds all that belongs to one dataset. Its ``__init__`` registers the recipe; ``reader`` registers the format,
``starter`` example stimuli, ``policy`` the way of screening, ``figures`` what was published, ``layout`` output files, as far
as there are such. The registries load these modules when they are first asked. Deleting a folder removes the dataset and
nothing else.
"""
