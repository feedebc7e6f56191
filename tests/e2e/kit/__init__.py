"""What the end-to-end tests share: kubectl, runs, waiting, the controller, artifacts."""
