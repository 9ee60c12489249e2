"""Merino's own packages. What `import merino` offers is promised to stay; what is here is not.

In an installed wheel the packages lie in this folder. In a checkout they are the folders at its top, and are found
there: a module has one name wherever it lies.
"""

import os.path  # is there when Python starts, as pathlib is not

if not os.path.isdir(os.path.join(__path__[0], "core")):  # noqa: PTH112, PTH118
    __path__.append(os.path.dirname(os.path.dirname(__path__[0])))  # noqa: PTH120
