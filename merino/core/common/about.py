"""Name, author and version of the program, and where its data lie. `uciok` is answered before numba is loaded."""

import os.path  # is there when Python starts, as pathlib is not
import sys

NAME = "Merino"
AUTHOR = "the Merino developers"
__version__ = "2.0.0"

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
_FOLDERS = [os.path.join(parent, "weights") for parent in (_PACKAGE, os.path.dirname(_PACKAGE))]  # noqa: PTH118, PTH120
# Weights and nets: in a wheel inside the package, in a checkout next to it.
SHIPPED = next(filter(os.path.isdir, _FOLDERS))


def needs(extra: str, what: str) -> str:
    """The sentence that `what` needs an extra of Merino, with the command that adds it, by what installed Merino."""
    import json  # noqa: PLC0415 (for errors only, as all that follows)
    from importlib import metadata, util  # noqa: PLC0415
    from shlex import quote  # noqa: PLC0415
    from urllib.parse import urlsplit  # noqa: PLC0415
    from urllib.request import url2pathname  # noqa: PLC0415

    ways = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}
    pip = f"{quote(sys.executable)} -m pip install" if util.find_spec("pip") else "uv pip install"
    installer = next((way for file, way in ways.items() if os.path.exists(f"{sys.prefix}/{file}")), pip)  # noqa: PTH110
    if installer == "uv pip install" and sys.prefix == sys.base_prefix:
        return f"{what} needs the extra '{extra}', which a bundle cannot have: install Merino (README.md)"
    try:
        found = json.loads(metadata.distribution("merino-chess").read_text("direct_url.json") or "{}")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        found = {"url": f"file://{os.path.dirname(_PACKAGE)}", "dir_info": {"editable": True}}  # noqa: PTH120
    editable = "--editable " * found.get("dir_info", {}).get("editable", False)
    source = url2pathname(urlsplit(found.get("url", "merino-chess")).path)
    return f"{what} needs the extra '{extra}': {installer} {editable}{quote(f'{source}[{extra}]')}"
