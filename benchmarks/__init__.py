"""How fast Merino is, compared with others where they are installed. Not part of the installed package."""
