"""How systems and intents differ: means, effects, models of the ratings, quadrants."""
