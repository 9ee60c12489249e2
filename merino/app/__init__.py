"""What people meet: the command line, the console, the page in the browser, and clusters of machines."""
