"""Faults: whom they hit, how they are done, held and reverted, and how their effect is proved."""
