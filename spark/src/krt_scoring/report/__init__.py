"""The report for people: one HTML file without anything to load."""

from krt_scoring.report.render import render

__all__ = ["render"]
