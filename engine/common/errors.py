"""The base of all errors that are no fault of the program."""


class MerinoError(Exception):
    """Something that cannot be done; the message is a sentence for the user that says what, where and why.

    Each package has its own below this one. Who talks to the user, and nobody else, catches it and prints it.
    """
