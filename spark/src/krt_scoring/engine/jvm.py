"""The flags of the JVMs of a session.

Flags change only how fast a JVM computes, never what. Without this shortcut there is none but the
one that names the configuration of its logging.
"""

from __future__ import annotations

from pathlib import Path

LOGGING = Path(__file__).with_name("log4j2.properties")
"""Logging of the JVMs; at the same path in driver and executors, which share an image."""

COMPILING = Path(__file__).with_name("compiling.directives")
"""What the JVMs' optimising compiler leaves to the quick one: the code that plans, generates,
compiles and moves queries about. It runs often enough to be taken for hot, and is done before
that pays (measured with 10 million sends: 8 of 26 s of that compiler)."""

# The JVM would interpret, for ever, what Spark generates for a step of more than 8000 bytes of
# bytecode.
# Compiled code of generated classes piles up: with the 48 MiB the C1 compiler alone would reserve,
# a self test fills them, and the JVM throws compiled code away and goes on interpreting.
ALL_FLAGS = "-XX:-UsePerfData -XX:-DontCompileHugeMethods -XX:ReservedCodeCacheSize=240m"
QUICK = "-XX:TieredStopAtLevel=1"
"""The quick compiler alone, for what runs too short for the optimising one to pay."""
SMALL_FLAGS = f"{QUICK} -XX:+UseSerialGC {ALL_FLAGS}"
"""For a small history, of which JVM start and code generation take most of the time (measured:
20 s instead of 37 s from Job to result)."""

# The optimising compiler is for what runs for every row. At its own thresholds it spends as long on
# the planner, which a scoring runs through once, as the rows take.
HOT_ONLY = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
"""Ten times the JVM's defaults."""
# It leaves out branches not taken so far, and compiles again when one is: of generated code with a
# branch for each null, up to nine times over.
ONCE = "-XX:PerMethodTrapLimit=0 -XX:PerBytecodeTrapLimit=0"
# The JVM says that it has read the file, and standard output is for the verdict.
PLAN_QUICKLY = (
    "-XX:+UnlockDiagnosticVMOptions -XX:+DisplayVMOutputToStderr "
    f"-XX:CompilerDirectivesFile={COMPILING}"
)
# What outlives a collection of young objects here is what was cached: copying it to and fro among
# them, fifteen times as the JVM would, does not make it any shorter-lived.
KEPT = "-XX:MaxTenuringThreshold=1"
MEDIUM_FLAGS = f"{QUICK} -XX:+UseParallelGC {KEPT} {ALL_FLAGS}"
"""For a history whose cached rows make a collector work, and which is scored in half a minute."""
LARGE_FLAGS = f"-XX:+UseParallelGC {KEPT} {HOT_ONLY} {ONCE} {PLAN_QUICKLY} {ALL_FLAGS}"
"""For a large history, of which the rows take most of the time."""

LARGE_ROWS = 2_000_000
"""Rows of a bundle from which its cached rows want room, and a collector with several threads."""

OPTIMISED_ROWS = 5_000_000
"""Rows of a bundle from which the optimising compiler pays for its own time. Without it a scoring
of 3 million rows takes 0.89 of the time that it takes with it (34.4 s and 38.5 s), one of 9 million
1.06 (54.9 s and 51.7 s): `python -m bench.scoring 1` and `3` with this number above and below the
rows, alternating on two cores, medians of three."""

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
"""Where Linux says whether a process may ask for pages of 2 MiB. Tables of groups are looked up all
over, and each look-up finds its page by walking a table that is 512 times as long without."""


def flags(rows: int, *, plain: bool) -> str:
    """Return the flags of the JVMs of a session for a history of so many rows."""
    logging = f"-Dlog4j2.configurationFile={LOGGING}"
    if plain:
        return logging
    if rows < LARGE_ROWS:
        return f"{logging} {SMALL_FLAGS}"
    chosen = MEDIUM_FLAGS if rows < OPTIMISED_ROWS else LARGE_FLAGS
    return f"{logging} {chosen}{_huge_pages()}"


def _huge_pages() -> str:
    """Return the JVM's flag that asks for huge pages, empty where the system has none to give."""
    try:
        offered = "[never]" not in HUGE_PAGES.read_text(encoding="ascii")
    except OSError:
        offered = False
    return " -XX:+UseTransparentHugePages" if offered else ""
