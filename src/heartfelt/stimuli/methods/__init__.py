"""Established methods as recipes: no dataset stands behind them, only a way to ask."""

from importlib.resources import files

from heartfelt.study.recipes import RECIPES, Recipe

METHODS = {
    "abx": "an ABX test of audible differences: is X the version A or the version B",
    "arena": "an arena of music systems: which of two clips conveys the emotion better, pairs chosen as answers come in",
    "best-worst": "best-worst scaling of emotions: the happiest and the least happy of four clips",
    "cmos": "a CMOS test of speech systems against a reference system: which sounds better, -3 to +3",
    "continuous": "continuous valence and arousal of music, traced on the plane while it plays",
    "dcr": "a degradation test of speech (P.808 DCR, DMOS): how annoying a version is compared with the reference, 1 to 5",
    "mushra": "a MUSHRA test of audio quality: hidden reference, two low-pass anchors, grades 0 to 100",
    "preference": "a preference test of speech systems without a reference: A or B",
    "ranking": "rankings of music systems: which clip conveys the emotion best, second best and so on",
}
for _name, _about in METHODS.items():
    RECIPES.add(_name, Recipe(_about, files(__package__) / f"{_name}.yaml"))
