"""Agreement among raters: functions of parallel columns of rater, item and value."""

from heartfelt.stats.agreement.accuracy import pairwise_accuracy, pairwise_balanced_accuracy
from heartfelt.stats.agreement.alpha import alpha
from heartfelt.stats.agreement.exact import ExactAgreement, exact_agreement
from heartfelt.stats.agreement.fleiss import fleiss_kappa, fleiss_kappa_counts
from heartfelt.stats.agreement.gwet import gwet_ac1, gwet_ac2
from heartfelt.stats.agreement.interval import Interval
from heartfelt.stats.agreement.kappa import cohen_kappa
from heartfelt.stats.agreement.majority import AgainstMajority, leave_one_out, prior_against_majority
from heartfelt.stats.agreement.pairs import PairAgreement, PairTable

__all__ = [
    "AgainstMajority",
    "ExactAgreement",
    "Interval",
    "PairAgreement",
    "PairTable",
    "alpha",
    "cohen_kappa",
    "exact_agreement",
    "fleiss_kappa",
    "fleiss_kappa_counts",
    "gwet_ac1",
    "gwet_ac2",
    "leave_one_out",
    "pairwise_accuracy",
    "pairwise_balanced_accuracy",
    "prior_against_majority",
]
