from __future__ import annotations

import pytest

from krt_contract.fields import Fields
from krt_contract.metadata import HistorySource, Metadata, MetadataMode, Strength


@pytest.mark.parametrize(
    ("mode", "source", "strength"),
    [
        (MetadataMode.ZOOKEEPER, HistorySource.ZOOKEEPER, Strength.WATCHED),
        (MetadataMode.KRAFT, HistorySource.METADATA_LOG, Strength.COMPLETE),
    ],
)
def test_mode_names_the_source_of_the_history_and_its_strength(
    mode: MetadataMode, source: HistorySource, strength: Strength
) -> None:
    assert Metadata(mode).source is source
    assert source.strength is strength


def test_polling_proves_no_absence() -> None:
    assert HistorySource.POLLING.strength is Strength.OBSERVED


def test_metadata_survives_json() -> None:
    metadata = Metadata(MetadataMode.KRAFT, "AAAAAAAAAAAAAAAAAAAAAQ")
    assert Metadata.read(Fields(metadata.to_document())) == metadata
