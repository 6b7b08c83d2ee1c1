"""Ratings with planted truth: what a stimulus conveys, who the raters are and how they answer are all known.

A method that claims to detect careless raters, system effects or a ceiling is tried here first, where the
answer is known. Everything is drawn from named streams: the same seed gives the same bytes.
"""

from heartfelt.moved import with_former_names
from heartfelt.simulate.answers import SimulatedRatings, ratings, study_ratings
from heartfelt.simulate.bulk import LongCsv, long_csv
from heartfelt.simulate.confusion import PRESENCE, VOTER_KINDS, VoterMix, Voters, category_truth, voters, votes
from heartfelt.simulate.conveyed import INTENTS, SYSTEMS, TruthOptions, stimuli, truth
from heartfelt.simulate.conveyed_emotion import ConveyanceProfile
from heartfelt.simulate.design import DesignOptions
from heartfelt.simulate.judgements import Habits, StrengthOptions, judge, match, strengths, trace
from heartfelt.simulate.people import KINDS, RaterMix, raters
from heartfelt.simulate.verification import (
    VERIFIER_KINDS,
    Verification,
    Verifier,
    VerifierMix,
    field_truth,
    verifiers,
    verify,
)

__all__ = [
    "INTENTS",
    "KINDS",
    "PRESENCE",
    "SYSTEMS",
    "VERIFIER_KINDS",
    "VOTER_KINDS",
    "ConveyanceProfile",
    "DesignOptions",
    "Habits",
    "LongCsv",
    "RaterMix",
    "SimulatedRatings",
    "StrengthOptions",
    "TruthOptions",
    "Verification",
    "Verifier",
    "VerifierMix",
    "VoterMix",
    "Voters",
    "category_truth",
    "field_truth",
    "judge",
    "long_csv",
    "match",
    "raters",
    "ratings",
    "stimuli",
    "strengths",
    "study_ratings",
    "trace",
    "truth",
    "verifiers",
    "verify",
    "voters",
    "votes",
]

__getattr__ = with_former_names(__name__)
