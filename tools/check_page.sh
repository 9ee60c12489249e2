#!/bin/sh
# Checks the modules of the page in the browser, if node is installed: their types, which are written as JSDoc, by tsc;
# style, format, functions of at most 40 lines and no circle of imports by Biome. Both come from the npm registry, once.
# Without node, or without the registry, this says what is not checked.

set -e
tools=build/page-tools
typescript=7.0.2
biome=2.6.8

if ! command -v npm > /dev/null; then
    echo "The page's modules are not checked: node and npm are not installed."
    exit 0
fi
if [ "$(cat $tools/versions 2> /dev/null)" != "$typescript $biome" ]; then
    mkdir -p $tools
    if ! npm install --prefix $tools --no-save --no-audit --no-fund --loglevel=error \
        "typescript@$typescript" "@biomejs/biome@$biome" > $tools/npm.log 2>&1; then
        cat $tools/npm.log >&2
        echo "Types and style of the page's modules are not checked: npm cannot install TypeScript and Biome."
        exit 0
    fi
    echo "$typescript $biome" > $tools/versions
fi
$tools/node_modules/.bin/tsc --project tsconfig.json
$tools/node_modules/.bin/biome check --error-on-warnings --reporter=summary $(find merino/app/explorer/page -name '*.js')
