"""The worker process: the only importer of warp and numpy."""
