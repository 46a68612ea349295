#!/usr/bin/env bash
# Installs the Debian packages that are missing. usage: deps.sh [build] [interop]; default: build.
# As root, or with sudo. Says what it does; silent when nothing is missing.
set -euo pipefail
build="gcc g++ make cmake ninja-build pkg-config ccache golang-go ca-certificates python3 libjansson-dev libzstd-dev libsnappy-dev liblz4-dev zlib1g-dev
libbrotli-dev libdeflate-dev libxxhash-dev libroaring-dev libcurl4-openssl-dev libssl-dev libsqlite3-dev libyaml-dev libedit-dev libutf8proc-dev libpcre2-dev libcmocka-dev"
interop="openjdk-17-jre-headless maven python3-venv"
check="clang-format"
fuzz="clang"
want=""
[ $# -gt 0 ] || set -- build
for group; do
  case $group in build) want="$want $build";; interop) want="$want $interop";; check) want="$want $check";; fuzz) want="$want $fuzz";; *) echo "deps.sh: unknown group $group" >&2; exit 2;; esac
done
missing=""
for package in $want; do
  case $package in # what another vendor's package may provide
    golang-go) command -v go >/dev/null && continue;;
    openjdk-17-jre-headless) command -v java >/dev/null && continue;;
    maven) command -v mvn >/dev/null && continue;;
    python3|gcc|g++|make|cmake) command -v "$package" >/dev/null && continue;;
    python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null && continue;;
  esac
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing Debian packages:$missing" >&2
sudo=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "deps.sh: run as root, or install:$missing" >&2; exit 1; }
  sudo=sudo
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
  { $sudo apt-get update -qq >&2 && $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null; }
