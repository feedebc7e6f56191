"""The report for people: one HTML file without anything to load."""

from krt_scoring.outputs.report.render import render

__all__ = ["render"]
