"""Durations as the report and messages show them."""

from krt_contract.durations import show

__all__ = ["show"]
