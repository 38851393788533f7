#!/bin/sh
# fresh.sh COMPILER ...: compiles a precompiled header as if there were none yet. ccache takes an old one for an input of
# the new one, so that a second build folder would find nothing of what the first has compiled.
before=
for word; do
  [ "$before" = -o ] && rm -f "$word"
  before=$word
done
exec "$@"
