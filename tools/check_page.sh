#!/bin/sh
# Checks the syntax of the modules of the page in the browser, if node is installed: also that no name is declared twice.
# They come from standard input, because `node --check FILE` lets faulty ES modules pass.

if ! command -v node > /dev/null; then
    echo "The page's modules are not checked: node is not installed."
    exit 0
fi
for module in app/explorer/page/*.js; do
    node --input-type=module --check - < "$module" || { echo "This is in $module." >&2; exit 1; }
done
