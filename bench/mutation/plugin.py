"""A plugin of pytest that tests an altered module: ``KRT_MUTANT=module=file pytest -p …``."""

from __future__ import annotations

import os

from bench.mutation.loading import MUTANT_ENV, alter_by_environment

alter_by_environment(os.environ[MUTANT_ENV])
