#!/usr/bin/env bash
# Installs what is missing of the named lists: packages/install.sh build [model] [test]
# Calls apt only when something is missing. Status 2: it cannot; the line to type is printed.
set -euo pipefail
cd "$(dirname "$0")"

if [[ $# -eq 0 ]]; then
  echo "usage: packages/install.sh LIST... (lists: $(ls *.txt | sed 's/\.txt//' | xargs))" >&2
  exit 2
fi
if [[ "${LEANSTREAM_PACKAGES:-}" == skip ]]; then
  exit 0
fi
files=()
for list in "$@"; do
  if [[ ! -f "$list.txt" ]]; then
    echo "packages/install.sh: no list '$list.txt'" >&2
    exit 2
  fi
  files+=("$list.txt")
done
mapfile -t wanted < <(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "${files[@]}" | sort -u)

if ! command -v dpkg-query >/dev/null; then
  echo "packages/install.sh: this is not Debian. Install the equivalents of: ${wanted[*]}" >&2
  echo "then set LEANSTREAM_PACKAGES=skip" >&2
  exit 2
fi
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
  sed -n 's/^installed //p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

root=()
if [[ $EUID -ne 0 ]]; then
  root=(sudo -n)
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    echo "packages/install.sh: packages are missing and this account may not install them." >&2
    echo "Type this, then try again:" >&2
    echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 2
  fi
fi
echo "installing: ${missing[*]}"
apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
