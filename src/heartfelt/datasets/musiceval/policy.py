"""MusicEval's way of screening: a batch that misses an anchor or a repeat is left out."""

from heartfelt.screening.policy import POLICIES, Policy, actions_of

ABOUT = "leave out batches (or raters, where there are no batches) that miss an anchor or a repeat"
POLICIES.add("musiceval", Policy(name="musiceval", about=ABOUT, actions=actions_of(["anchor", "repeat-difference"])))
