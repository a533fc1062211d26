#!/bin/sh
# Tries ./x on a bare Debian 12: makes (or reuses) a minimal root with nothing but git, curl and certificates, puts the
# Rust toolchain and the working tree into it, and runs ./x there.
#
#   sudo xtask/bare-debian.sh FOLDER [ARGUMENTS OF ./x]      for example: /var/tmp/bare build
#
# Needs root, debootstrap and a Rust toolchain for this machine's architecture. MIRROR and SECURITY_MIRROR name other
# Debian mirrors. The root is kept: delete FOLDER for a fresh start, or its /fuseline for a fresh tree.
set -eu

[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 1; }
mkdir -p "$1"
bare=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
mirror=${MIRROR:-http://deb.debian.org/debian}
security_mirror=${SECURITY_MIRROR:-http://deb.debian.org/debian-security}

[ -x "$bare/usr/bin/git" ] ||
    debootstrap --variant=minbase --include=git,curl,ca-certificates bookworm "$bare" "$mirror"
cat >"$bare/etc/apt/sources.list" <<SOURCES
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb $security_mirror bookworm-security main
SOURCES

# The network as on this machine: names and certificates; proxy variables pass through below.
cp -L /etc/resolv.conf /etc/hosts "$bare/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$bare/etc/ssl/certs/"

# Rust: this machine's toolchain, without rustup, and its downloaded crates.
[ -x "$bare/opt/rust/bin/cargo" ] || cp -a "$(rustc --print sysroot)" "$bare/opt/rust"
mkdir -p "$bare/root/.cargo" "$bare/fuseline"
for item in registry config.toml; do
    [ ! -e "${CARGO_HOME:-$HOME/.cargo}/$item" ] || cp -au "${CARGO_HOME:-$HOME/.cargo}/$item" "$bare/root/.cargo/"
done

git ls-files --cached --others --exclude-standard -z | tar --create --null --files-from=- --ignore-failed-read |
    tar --extract --directory="$bare/fuseline"

# The mounts live in a name space of their own and vanish with it.
export bare
# shellcheck disable=SC2016  # the inner shell expands
exec unshare --mount sh -c '
    mount -t proc proc "$bare/proc"
    mount --rbind /dev "$bare/dev"
    exec chroot "$bare" /usr/bin/env -i HOME=/root SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
        PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" FUSELINE_LLVM="${FUSELINE_LLVM:-}" \
        sh -c "cd /fuseline && exec ./x \"\$@\"" x "$@"
' sh "$@"
