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


@pytest.mark.parametrize("mode", list(MetadataMode))
def test_referenced_cluster_is_polled_whatever_its_mode(mode: MetadataMode) -> None:
    assert Metadata(mode, referenced=True).source is HistorySource.POLLING


def test_deployed_cluster_is_not_marked_in_json() -> None:
    assert "referenced" not in Metadata(MetadataMode.KRAFT).to_document()


@pytest.mark.parametrize("referenced", [False, True])
def test_metadata_survives_json(*, referenced: bool) -> None:
    metadata = Metadata(MetadataMode.KRAFT, "AAAAAAAAAAAAAAAAAAAAAQ", referenced)
    assert Metadata.read(Fields(metadata.to_document())) == metadata
