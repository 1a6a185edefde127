"""Constants that another module imports."""

import warp as wp

FEW = 6
MANY = wp.constant(FEW * 6)
