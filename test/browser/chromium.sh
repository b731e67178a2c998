#!/bin/sh
# Fetches Debian's chromium, with all that it needs and the machine has not, and unpacks it into a folder, without root.
# chromium.sh FOLDER
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
command -v apt-get >/dev/null || { echo "There is no chromium, and no apt-get to fetch it with: install it, or name it: make CHROMIUM=/path/of/chromium" >&2; exit 1; }
mkdir -p "$folder/lists/partial" "$folder/archives/partial"
# What is installed is read from the machine; lists and packages are kept in the folder.
apt() {
  apt-get -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder" -o Dir::Cache::archives="$folder/archives" -o Debug::NoLocking=true -o APT::Sandbox::User="$(id -un)" -qq "$@"
}
apt update
apt install --yes --reinstall --no-install-recommends --download-only chromium fonts-dejavu-core
for package in "$folder"/archives/*.deb; do dpkg-deb --extract "$package" "$folder/root"; done
rm -rf "$folder/archives" "$folder/lists" "$folder"/*.bin
# Some packages keep libraries in a folder of their own, whose absolute path stands in those that need them.
libraries=$(find "$folder/root/usr/lib/$(uname -m)-linux-gnu" "$folder/root/lib/$(uname -m)-linux-gnu" -name 'lib*.so*' -exec dirname {} + 2>/dev/null | sort -u | paste -sd: -)
cat >"$folder/chromium.new" <<EOF
#!/bin/sh
export LD_LIBRARY_PATH="$libraries"
export XDG_DATA_DIRS="$folder/root/usr/share:/usr/share"
exec "$folder/root/usr/lib/chromium/chromium" "\$@"
EOF
chmod +x "$folder/chromium.new"
mv "$folder/chromium.new" "$folder/chromium"
