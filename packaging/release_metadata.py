"""What PyPI shows of a release: the README with addresses in place of names of files, and the addresses of the project.

Hatch calls this whenever it builds. The repository is the one whose workflow builds the release; elsewhere, as in `pip
install .`, nobody sees the README, and it stays as it is.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ReleaseMetadata(MetadataHookInterface):
    """The hook; its fields are `dynamic` in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` and `urls`."""
        text, name = (Path(self.root) / "README.md").read_text(encoding="utf-8"), os.environ.get("GITHUB_REPOSITORY")
        if name:
            owner, _, project = name.partition("/")
            home, version = f"{os.environ['GITHUB_SERVER_URL']}/{name}", os.environ["GITHUB_REF_NAME"]
            text = re.sub(r"\]\((?![a-z]+:|#)", f"]({home}/blob/{version}/", text)
            text = text.replace('src="', f'src="{home}/raw/{version}/')
            metadata["urls"] = {
                "Documentation": f"https://{owner}.github.io/{project}/",
                "Source": home,
                "Changelog": f"{home}/blob/{version}/CHANGELOG.md",
                "Issues": f"{home}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
