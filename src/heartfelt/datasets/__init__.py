"""Published datasets, each at home in a folder of its own; nothing else in heartfelt knows them by name.

``__init__`` registers the recipe, ``reader`` the format, ``starter`` example stimuli, ``policy`` the way of screening,
``figures`` what was published, ``layout`` output files. Registries load these modules when they are first asked.
"""
