"""JUnit XML for CI: a test case for each anomaly, objective and claim, and the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from krt_scoring.outputs.replicas import unasked

if TYPE_CHECKING:
    from collections.abc import Mapping


def render(card: Mapping[str, Any]) -> str:
    """Return the scorecard as JUnit XML.

    A violation, a missed objective and a claim that did not hold are failures, a reason for
    Inconclusive is an error, a claim that could not be measured and an anomaly that was not looked
    for are skipped.
    """
    run = card["run"]
    suite = ET.Element("testsuite", name=f"{run['namespace']}/{run['name']}")
    _anomalies(suite, card)
    for item in card.get("objectives", []):
        case = ET.SubElement(suite, "testcase", classname="objective", name=item["name"])
        if not item["met"]:
            text = f"{item.get('value')} {item['unit']}, limit {item['limit']}"
            ET.SubElement(case, "failure", message=text)
    _claims(suite, card)
    for item in card.get("selfTest", {}).get("corruptions", []):
        case = ET.SubElement(suite, "testcase", classname="selfTest", name=item["name"])
        if not item["detected"]:
            text = "the detector did not find this corruption with exactly its difference"
            ET.SubElement(case, "failure", message=text)
    for reason in card["inconclusiveReasons"]:
        name = f"{reason['code']} {reason['subject']}"
        case = ET.SubElement(suite, "testcase", classname="evidence", name=name)
        ET.SubElement(case, "error", message=reason["message"])
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _anomalies(suite: ET.Element, card: Mapping[str, Any]) -> None:
    for name, item in sorted(card.get("anomalies", {}).items()):
        case = ET.SubElement(suite, "testcase", classname="anomaly", name=name)
        if item["violations"]:
            text = f"{item['violations']} {item['unit']} that the configuration does not permit"
            ET.SubElement(case, "failure", message=text)
        elif item["permitted"]:
            rules = ", ".join(sorted(item["rules"]))
            ET.SubElement(case, "system-out").text = f"{item['permitted']} permitted by {rules}"
        elif name in unasked(card):
            ET.SubElement(case, "skipped", message="spec.evidence.compareReplicas is not set")


def _claims(suite: ET.Element, card: Mapping[str, Any]) -> None:
    for item in card.get("expectationResults", []):
        case = ET.SubElement(suite, "testcase", classname="expectation", name=item["expectation"])
        text = f"expected {item['expected']}; observed {item['observed']}"
        if item["result"] == "NotMet":
            ET.SubElement(case, "failure", message=text)
        elif item["result"] == "NotEvaluated":
            ET.SubElement(case, "skipped", message=item["observed"])
        else:
            ET.SubElement(case, "system-out").text = text
