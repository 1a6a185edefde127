"""Random kernels: the static verdict against Warp's own tape and finite differences."""
