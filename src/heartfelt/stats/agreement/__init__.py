"""Agreement among raters: functions of parallel columns of rater, item and value."""

from heartfelt.moved import with_former_names
from heartfelt.stats.agreement.chance import fleiss_kappa, fleiss_kappa_counts, gwet_ac1, gwet_ac2
from heartfelt.stats.agreement.interval import Interval
from heartfelt.stats.agreement.krippendorff import alpha
from heartfelt.stats.agreement.pairs import (
    PairTable,
    RaterPairAgreement,
    cohen_kappa,
    pairwise_accuracy,
    pairwise_balanced_accuracy,
)
from heartfelt.stats.agreement.votes import (
    AgainstMajority,
    ExactAgreement,
    exact_agreement,
    leave_one_out,
    prior_against_majority,
)

__all__ = [
    "AgainstMajority", "ExactAgreement", "Interval", "PairTable", "RaterPairAgreement", "alpha", "cohen_kappa",
    "exact_agreement", "fleiss_kappa", "fleiss_kappa_counts", "gwet_ac1", "gwet_ac2", "leave_one_out",
    "pairwise_accuracy", "pairwise_balanced_accuracy", "prior_against_majority",
]  # fmt: skip

__getattr__ = with_former_names(__name__)
