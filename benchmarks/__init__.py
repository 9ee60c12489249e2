"""How fast Merino is, measured beside others where they are installed. Not part of the installed package."""
