#!/usr/bin/env bash
# What a pull request changes, as Markdown: parameters, metrics and the picture. In a job's summary, or at home:
#   .github/summary.sh main
# The argument is the revision to compare with. PICTURE_URL is where the picture of this revision can be seen, if
# anywhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="$PWD/.venv/bin:$PATH"

base=${1:?name the revision to compare with}

# A shallow clone knows no other branch, and DVC would only say that the revision is unknown.
if ! git rev-parse --quiet --verify "$base^{commit}" > /dev/null; then
  git fetch --quiet --depth=1 origin "$base:$base"
fi

table() { # TITLE NOTHING COMMAND...
  local title=$1 nothing=$2 found
  shift 2
  found=$("$@")
  # Where nothing changed, DVC writes the two lines of a table's head, or none.
  [ "$(grep -c . <<< "$found")" -gt 2 ] || found=$nothing
  printf '## %s\n\n%s\n\n' "$title" "$found"
}

table "Parameters" "No parameter changed." dvc params diff --md "$base"
table "Metrics" "No metric changed." dvc metrics diff --md "$base"
if [ -n "${PICTURE_URL:-}" ]; then
  printf '## Loss by step\n\n![Loss of each model by step](%s)\n' "$PICTURE_URL"
fi
