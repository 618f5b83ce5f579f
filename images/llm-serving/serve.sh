#!/bin/sh
# Serve one model: serve.sh MODEL [ARGUMENTS OF vllm serve]
set -eu
exec vllm serve "$@"
