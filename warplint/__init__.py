"""warplint finds NVIDIA Warp code whose gradients are silently wrong, and proves each finding by running it."""

__version__ = "0.1.0"
