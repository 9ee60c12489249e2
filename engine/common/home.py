"""Where Merino's packages are: at the top in a checkout, below one name in the installed wheel."""

HOME = __name__.removesuffix("engine.common.home")  # "" in a checkout, "merino.inner." in the wheel
