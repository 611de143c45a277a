#!/bin/sh
# Options and configuration files are redis-server's; anything else is a
# command of its own, as in the official redis image.
case "${1-}" in
'' | -* | *.conf) set -- redis-server "$@" ;;
esac
exec "$@"
