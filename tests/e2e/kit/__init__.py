"""What the end-to-end tests share: kubectl, resources, waiting, evidence, what a failure keeps."""
