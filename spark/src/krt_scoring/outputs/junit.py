"""JUnit XML for CI: a test case for each anomaly, objective, expectation, corruption and reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from krt_scoring.outputs import objective_values
from krt_scoring.outputs.severity import standing
from krt_scoring.outputs.unchecked import WHY_UNCHECKED

if TYPE_CHECKING:
    from collections.abc import Mapping

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, not even escaped; a parser refuses the whole file."""


def render(card: Mapping[str, Any]) -> str:
    """Return the scorecard as JUnit XML.

    A violation, a missed objective, an expectation that was not met and a missed corruption are
    failures, a reason for Inconclusive is an error, an expectation that was not evaluated, an
    anomaly that was not checked and one whose violations all rest on missing evidence are skipped.
    """
    run = card["run"]
    suite = ET.Element("testsuite", name=_clean(f"{run['namespace']}/{run['name']}"))
    _add_anomalies(suite, card)
    for item in card.get("objectives", []):
        case = _add_case(suite, "objective", item["name"])
        value, limit = objective_values.show(item, "value"), objective_values.show(item, "limit")
        text = f"{value}, limit {limit}"
        if item["met"]:
            _add_output(case, text)
        else:
            _add_outcome(case, "failure", text)
    _add_expectations(suite, card)
    for item in card.get("selfTest", {}).get("corruptions", []):
        case = _add_case(suite, "selfTest", item["name"])
        if not item["detected"]:
            text = "this corruption was not detected with exactly its difference"
            _add_outcome(case, "failure", text)
    for warning in card.get("warnings", []):
        case = _add_case(suite, "warning", f"{warning['code']} {warning['subject']}")
        _add_output(case, warning["message"])
    _add_transforms(suite, card)
    for reason in card["inconclusiveReasons"]:
        case = _add_case(suite, "evidence", f"{reason['code']} {reason['subject']}")
        _add_outcome(case, "error", reason["message"])
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: ET.Element, kind: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=kind, name=_clean(name))


def _add_outcome(case: ET.Element, tag: str, message: str) -> None:
    ET.SubElement(case, tag, message=_clean(message))


def _add_output(case: ET.Element, text: str) -> None:
    ET.SubElement(case, "system-out").text = _clean(text)


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def _add_anomalies(suite: ET.Element, card: Mapping[str, Any]) -> None:
    unchecked = card.get("uncheckedAnomalies", [])
    for name, item in sorted(card.get("anomalies", {}).items()):
        case = _add_case(suite, "anomaly", name)
        if standing(item):
            text = f"{standing(item)} {item['unit']} that the configuration does not permit"
            _add_outcome(case, "failure", text)
        elif item.get("void"):
            why = "not judged, since the evidence that they rest on is missing"
            _add_outcome(case, "skipped", f"{item['void']} {item['unit']} {why}")
        elif item["permitted"]:
            rules = ", ".join(sorted(item["rules"]))
            _add_output(case, f"{item['permitted']} permitted by {rules}")
        elif name in unchecked:
            _add_outcome(case, "skipped", f"not checked; {WHY_UNCHECKED[name]}")


def _add_expectations(suite: ET.Element, card: Mapping[str, Any]) -> None:
    for item in card.get("expectationResults", []):
        case = _add_case(suite, "expectation", item["expectation"])
        text = f"expected {item['expected']}; observed {item['observed']}"
        if item["result"] == "NotMet":
            _add_outcome(case, "failure", text)
        elif item["result"] == "NotEvaluated":
            _add_outcome(case, "skipped", item["observed"])
        else:
            _add_output(case, text)


def _add_transforms(suite: ET.Element, card: Mapping[str, Any]) -> None:
    for item in card.get("transactions", {}).get("transforms", []):
        case = _add_case(suite, "transform", item["group"])
        text = (
            f"{item['inputs']} inputs and {item['outputs']} outputs of committed transactions: "
            f"{item['inputsWithoutOutput']} inputs without an output, "
            f"{item['outputsWithoutInput']} outputs without an input, "
            f"{item['inputsWithSharedOutput']} inputs that share an output"
        )
        _add_output(case, text)
