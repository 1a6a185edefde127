"""What the names of external functions say about them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

#: ``context``: a context manager that changes nothing which matters to a trace. ``harmless``: cannot change an array's
#: flag or contents, and at most looks at it. ``optimizer``, ``number``, ``vector``: makes one.
Role = Literal["context", "harmless", "optimizer", "number", "vector", "unknown"]

_CONTEXTS = re.compile(
    r"^(warp\.Scoped\w+|contextlib\.(nullcontext|suppress|ExitStack)|torch\.(no_grad|enable_grad|inference_mode|device)"
    r"|torch\.cuda\.\w+|torch\.autograd\.(set_detect_anomaly|graph\.\w+)|open|nvtx\.annotate|warnings\.\w+"
    r"|unittest\.mock\.\w+|tempfile\.\w+)$"
)
_HARMLESS = re.compile(
    r"^(numpy|math|time|os|sys|json|logging|random|pathlib|warnings|argparse|itertools|operator|statistics|matplotlib"
    r"|tqdm|pxr|PIL|trimesh|rich|wandb|scipy|typing|collections|copy|string|re|datetime|unittest|pytest|gc|object"
    r"|cv2|imageio|polyscope|pyglet|click|dataclasses|functools|contextlib|abc|enum|inspect|traceback|threading)\b"
)
_HARMLESS_WARP = re.compile(
    r"^warp\.(synchronize\w*|init|get_\w+|set_\w+|is_\w+|capture_\w+|load_\w+|force_load|render\.\w+|config\.\w+"
    r"|context\.\w+|types\.\w+|rand\w*|launch_\w+|wait_\w+|record_event|Stream|Event|print_\w+|clear_\w+|sim\.render\.\w+"
    r"|Bvh|HashGrid|Volume\S*|MarchingCubes|constant|static|examples\.\S+|utils\.create_\w+|utils\.bourke_color_map"
    r"|optim\.linear\.\S+)$"
)
_HARMLESS_METHODS = re.compile(
    r"^(log|print|render|draw|plot|show|save|append|write|add_\w+|begin\w*|end\w*|set_model|set_\w+|info|debug|warning|error"
    r"|assert\w*|imshow|scatter|update_\w+|extend|put|set|register\w*|format|join|lower|items|keys|values|get|copy|view"
    r"|numpy|cpu|detach|item|tolist|clone|to|size|mean|sum|astype|reshape|flatten|ravel|squeeze|transpose|swapaxes"
    r"|is_\w+|has_\w+)$|^log_"
)
_VECTOR = re.compile(r"^warp\.(vec\d\w*|mat\d\d\w*|quat\w*|transform\w*|spatial_\w+)$")
_NUMBER = re.compile(r"^warp\.(u?int\d+|float\d+|bool)$")
_OPTIMIZER = re.compile(r"^warp\.(optim\.)?(Adam|SGD|adam\.Adam|sgd\.SGD)$")


@lru_cache(4096)
def role(name: str) -> Role:
    """The role of an external function, by its full name."""
    if _CONTEXTS.match(name):
        return "context"
    if not name.startswith("warp."):
        return "harmless" if _HARMLESS.match(name) else "unknown"
    if _OPTIMIZER.match(name):
        return "optimizer"
    if _NUMBER.match(name):
        return "number"
    if _VECTOR.match(name):
        return "vector"
    return "harmless" if _HARMLESS_WARP.match(name) else "unknown"


def draws(method: str) -> bool:
    """Whether a method is one of a random number generator, which is told the shape of its result."""
    return method in ("normal", "uniform", "random", "standard_normal", "integers", "rand", "randn", "choice")


@lru_cache(4096)
def only_looks(method: str) -> bool:
    """Whether a method of an unknown object, by its name, only looks at what it is given."""
    return _HARMLESS_METHODS.match(method) is not None
