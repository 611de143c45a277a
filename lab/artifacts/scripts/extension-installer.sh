#!/bin/sh
# Downloads a UI extension for Argo CD's API server, by the variables of the image
# argocd-extension-installer. It has no EXTENSION_JS_VARS, which takes a JSON parser.
set -eu

finish() {
  code=$?
  rm -rf "$work"
  if [ "$code" -ne 0 ]; then
    echo "cannot install the extension ${EXTENSION_NAME-} from ${EXTENSION_URL-}" >&2
    [ "${IGNORE_FAILURE-}" = true ] && code=0
  fi
  exit "$code"
}

[ "${EXTENSION_ENABLED:-true}" = true ] || exit 0
work=$(mktemp -d)
trap finish EXIT

if [ -z "${EXTENSION_URL-}" ] || [ -n "${EXTENSION_JS_VARS-}" ]; then
  echo "EXTENSION_URL must be set, and EXTENSION_JS_VARS must not" >&2
  exit 1
fi
archive=${EXTENSION_URL##*/}
timeout "${MAX_DOWNLOAD_SEC:-30}" wget -q -O "$work/$archive" "$EXTENSION_URL"
if [ -n "${EXTENSION_CHECKSUM_URL-}" ]; then
  wget -q -O "$work/checksums" "$EXTENSION_CHECKSUM_URL"
  (cd "$work" && grep "[ *]$archive\$" checksums | sha256sum -c)
fi
mkdir "$work/files"
case "$archive" in
*.gz | *.tgz) tar -C "$work/files" -xzf "$work/$archive" ;;
*) tar -C "$work/files" -xf "$work/$archive" ;;
esac
mkdir -p /tmp/extensions/resources
cp -R "$work"/files/resources/. /tmp/extensions/resources/
