"""``krt scenarios``: runs the catalogue of manifests/scenarios and reads its results."""
