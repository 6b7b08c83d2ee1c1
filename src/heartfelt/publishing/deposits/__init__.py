"""Sending a release to where others find it: the Hugging Face hub and Zenodo."""

from heartfelt.publishing.deposits.deposit import DEPOSITS, Deposit, check_target, send
from heartfelt.publishing.options import DepositOptions

__all__ = ["DEPOSITS", "Deposit", "DepositOptions", "check_target", "send"]
