"""Remove all of Merino's compiled code from the user's cache folder: `make clean` runs this."""

import re
import shutil

from engine.cache import user_folder


def main() -> None:
    """Delete the folders that are named by a fingerprint, and nothing else."""
    parent = user_folder("cache")
    folders = [f for f in parent.glob("*") if f.is_dir() and re.fullmatch("[0-9a-f]{16}", f.name)]
    for folder in folders:
        shutil.rmtree(folder)
    print(f"removed {len(folders)} folder{'s' * (len(folders) != 1)} of compiled code from {parent}")


if __name__ == "__main__":
    main()
