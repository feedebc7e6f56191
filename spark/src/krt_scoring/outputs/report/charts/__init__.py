"""The charts of a run over time: what is drawn (``panels``) and how (``drawing``)."""
