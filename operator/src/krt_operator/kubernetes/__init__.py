"""The API server. The only package that imports the kubernetes client."""
