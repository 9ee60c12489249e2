"""Games annotated: what each move did to the evaluation, and the mistakes by loss of expected score."""
