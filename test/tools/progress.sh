#!/usr/bin/env bash
# Builds something that takes minutes, and says meanwhile how far it is and about how long it still takes.
# progress.sh GO [arguments of go build...] PACKAGE
# On a terminal one line is kept up to date; else there is a line for each tenth. What Go says besides is passed on.
set -eu -o pipefail
go=$1
shift
package=${*: -1}
# GOGC: compilers end soon, and collect their garbage late.
# Listing what the package is made of downloads it: until then nobody knows how much that is. Go's own packages are compiled meanwhile; what is wrong
# with them the build says.
echo "  downloading" >&2
GOGC=400 "$go" build std 2>/dev/null &
total=$("$go" list -deps "$package" | wc -l)
wait $! || true
began=$SECONDS built=0 told=0 open=
show() {
	local spent=$((SECONDS - began)) left=0
	if [ "$built" -lt "$total" ]; then left=$((spent * (total - built) / built)); fi
	local text
	text=$(printf '  %d of %d packages in %d:%02d, about %d:%02d to go' "$built" "$total" $((spent / 60)) $((spent % 60)) $((left / 60)) $((left % 60)))
	if [ -t 2 ]; then printf '\r%s ' "$text" >&2; open=yes; else printf '%s\n' "$text" >&2; fi
}
GOGC=400 "$go" build -v "$@" 2>&1 | {
	while IFS= read -r line; do
		# A package is a path without spaces. Errors begin with #, and downloads with go:.
		if [[ $line =~ ^[[:alnum:]._~/+-]+$ ]]; then
			built=$((built + 1))
			if [ -t 2 ] || [ $((10 * built / total)) -gt "$told" ]; then told=$((10 * built / total)) && show; fi
			continue
		fi
		if [ -n "$open" ]; then open= && echo >&2; fi
		printf '%s\n' "$line" >&2
	done
	if [ -n "$open" ]; then echo >&2; fi
}
