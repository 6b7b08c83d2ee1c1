"""Sending a release to where others find it: the Hugging Face hub and Zenodo."""

from heartfelt.publishing.deposits.deposit import DEPOSITS, Deposit, DepositOptions, send

__all__ = ["DEPOSITS", "Deposit", "DepositOptions", "send"]
