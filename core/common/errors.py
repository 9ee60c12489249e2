"""The base of all errors that are not faults of the program."""


class MerinoError(Exception):
    """Something cannot be done; the message is a sentence for the user that says what, where and why.

    Each package derives its own from this one. Only the parts that talk to the user catch and print it.
    """
