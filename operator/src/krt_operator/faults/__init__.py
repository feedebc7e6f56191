"""Faults: whom they hit, how they are done, held and healed, and how their effect is proved."""
