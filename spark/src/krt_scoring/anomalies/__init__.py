"""The anomalies, one module each, and the judgement over all of them."""

from krt_scoring.anomalies.judgement import judge

__all__ = ["judge"]
