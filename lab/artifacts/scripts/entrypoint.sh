#!/bin/sh
# Entrypoint of Argo CD pods. As process 1 of the container, let tini reap what
# git and its helpers leave behind.
[ $$ -ne 1 ] || set -- tini -- "$@"
exec "$@"
