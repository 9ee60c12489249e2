"""The explorer: a page in the browser that shows a position and its reasons, and the server that answers it."""
