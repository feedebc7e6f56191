"""Where evidence is kept, behind one interface: a folder of a shared volume, or an object store."""
