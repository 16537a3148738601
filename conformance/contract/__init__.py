"""The contract between host and provider, as data: one folder for each revision, and code that reads any of them."""

from conformance.contract.contract import Contract
from conformance.contract.errors import ContractDataError, UnknownRevisionError
from conformance.contract.loader import load_contract, revisions
from conformance.contract.records import (
    CapabilityRule,
    Limit,
    MethodRule,
    NarrowingRule,
    Problem,
    ProfileRule,
    Requirement,
)

__all__ = [
    "CapabilityRule",
    "Contract",
    "ContractDataError",
    "Limit",
    "MethodRule",
    "NarrowingRule",
    "Problem",
    "ProfileRule",
    "Requirement",
    "UnknownRevisionError",
    "load_contract",
    "revisions",
]
