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
SMALL_FLAGS = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {ALL_FLAGS}"
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
LARGE_FLAGS = f"-XX:+UseParallelGC {KEPT} {HOT_ONLY} {ONCE} {PLAN_QUICKLY} {ALL_FLAGS}"
"""For a large history, of which the rows take most of the time."""

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
"""Where Linux says whether a process may ask for pages of 2 MiB. Tables of groups are looked up all
over, and each look-up finds its page by walking a table that is 512 times as long without."""


def flags(*, large: bool, plain: bool) -> str:
    """Return the flags of the JVMs of a session."""
    logging = f"-Dlog4j2.configurationFile={LOGGING}"
    if plain:
        return logging
    return f"{logging} {LARGE_FLAGS}{_huge_pages()}" if large else f"{logging} {SMALL_FLAGS}"


def _huge_pages() -> str:
    """Return the JVM's flag that asks for huge pages, empty where the system has none to give."""
    try:
        offered = "[never]" not in HUGE_PAGES.read_text(encoding="ascii")
    except OSError:
        offered = False
    return " -XX:+UseTransparentHugePages" if offered else ""
