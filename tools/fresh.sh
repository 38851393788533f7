#!/bin/sh
# fresh.sh COMPILER ...: compile a precompiled header as if there were none yet. ccache takes an old one for an input of
# the new one, so a second build folder would find nothing that the first has compiled.
# The headers must match to the byte: g++ compares their contents with those in the precompiled header, so an entry of
# the cache that differs in comments only (ccache's preprocessor mode) leads to "redefinition of ...".
before=
for word; do
  [ "$before" = -o ] && rm -f "$word"
  before=$word
done
CCACHE_NAMESPACE=precompiled CCACHE_DEPEND=1 exec "$@"
