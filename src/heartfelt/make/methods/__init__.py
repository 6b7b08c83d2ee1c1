"""Established methods as recipes: no dataset stands behind them, only a way to ask."""

from importlib.resources import files

from heartfelt.study.recipes import RECIPES, Recipe

METHODS = {
    "arena": "an arena of music systems: which of two clips conveys the emotion better, pairs chosen as answers come in",
    "best-worst": "best-worst scaling of emotions: the happiest and the least happy of four clips",
    "cmos": "a CMOS test of speech systems against a reference system: which sounds better, -3 to +3",
    "continuous": "continuous valence and arousal of music, traced on the plane while it plays",
    "mushra": "a MUSHRA test of audio quality: hidden reference, two low-pass anchors, grades 0 to 100",
}
for _name, _about in METHODS.items():
    RECIPES.add(_name, Recipe(_about, files(__package__) / f"{_name}.yaml"))
